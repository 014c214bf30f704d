package attach

import (
	"encoding/binary"
	"errors"
)

// The memory written into the process contains the machine code of the new thread (stub), the code
// that creates it (start), a table of addresses, and a text:
//
//	void stub(struct { int (*ensure)(void); void (*release)(int); int (*run)(const char *); const char *text; …} *a) {
//	    int state = a->ensure();   // waits for the GIL, as every thread does
//	    a->run(a->text);
//	    a->release(state);
//	}
//	int start(struct { …; void *(*stub)(void *); int (*create)(pthread_t *, …); int (*detach)(pthread_t); …; } *a) {
//	    pthread_t thread;
//	    int error = a->create(&thread, NULL, a->stub, a);
//	    if (!error) a->detach(thread);
//	    return error;
//	}
//
// pthread_create is called, because Python's own function to start a thread allocates
// memory, and with tracemalloc Python's allocators wait for the GIL.
//
// The process can read and execute this memory; gdb writes it.
const (
	starterAt = 128
	wordsAt   = 256
	textAt    = 320
)

// imageSize returns the size of the memory for the code and a text, in whole pages.
func imageSize(text string) int {
	return (textAt + len(text) + pageSize) / pageSize * pageSize // with the NUL at the end
}

// starters is start in machine code.
var starters = map[string][]byte{
	"amd64": {
		0xf3, 0x0f, 0x1e, 0xfa, // endbr64
		0x53,                   // push rbx
		0x48, 0x83, 0xec, 0x10, // sub rsp, 16: aligned to 16 for the calls
		0x48, 0x89, 0xfb, // mov rbx, rdi
		0x48, 0x89, 0xe7, // mov rdi, rsp
		0x31, 0xf6, // xor esi, esi
		0x48, 0x8b, 0x53, 0x20, // mov rdx, [rbx+32]
		0x48, 0x89, 0xd9, // mov rcx, rbx
		0xff, 0x53, 0x28, // call [rbx+40]
		0x85, 0xc0, // test eax, eax
		0x75, 0x09, // jnz over the next three
		0x48, 0x8b, 0x3c, 0x24, // mov rdi, [rsp]
		0xff, 0x53, 0x30, // call [rbx+48]
		0x31, 0xc0, // xor eax, eax
		0x48, 0x83, 0xc4, 0x10, // add rsp, 16
		0x5b, // pop rbx
		0xc3, // ret
	},
}

// stubs is stub in machine code.
var stubs = map[string][]byte{
	"amd64": {
		0xf3, 0x0f, 0x1e, 0xfa, // endbr64
		0x53,       // push rbx
		0x41, 0x54, // push r12
		0x48, 0x83, 0xec, 0x08, // sub rsp, 8: aligned to 16 for the calls
		0x48, 0x89, 0xfb, // mov rbx, rdi
		0xff, 0x13, // call [rbx]
		0x41, 0x89, 0xc4, // mov r12d, eax
		0x48, 0x8b, 0x7b, 0x18, // mov rdi, [rbx+24]
		0xff, 0x53, 0x10, // call [rbx+16]
		0x44, 0x89, 0xe7, // mov edi, r12d
		0xff, 0x53, 0x08, // call [rbx+8]
		0x31, 0xc0, // xor eax, eax
		0x48, 0x83, 0xc4, 0x08, // add rsp, 8
		0x41, 0x5c, // pop r12
		0x5b, // pop rbx
		0xc3, // ret
	},
}

// image returns what is to be written at the address page: the code, the table of addresses, and the text.
func image(architecture string, functions map[string]function, page uint64, text string) ([]byte, error) {
	code, starter := stubs[architecture], starters[architecture]
	if len(code) > starterAt || len(starter) > wordsAt-starterAt {
		return nil, errors.New("the machine code overlaps")
	}
	out := make([]byte, textAt, imageSize(text))
	copy(out, code)
	copy(out[starterAt:], starter)
	for i, word := range []uint64{
		functions["PyGILState_Ensure"].address, functions["PyGILState_Release"].address,
		functions["PyRun_SimpleString"].address, page + textAt,
		page, functions["pthread_create"].address, functions["pthread_detach"].address,
	} {
		binary.LittleEndian.PutUint64(out[wordsAt+8*i:], word)
	}
	return append(out, text+"\x00"...), nil
}

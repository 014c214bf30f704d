/*
 * Finds whose code allocates. NVIDIA's runtime library (libcudart) makes the call for the code
 * that calls cudaMalloc: that caller is some frames further up the stack, and the runtime's own
 * unwind information (.eh_frame) shows the way to it:
 *
 *   return address ── rules[] ──→ where its frame ends: the next return address is there
 *                        ↑ once for each address: _dl_find_object, .eh_frame_hdr, the instructions up to it
 *
 * No unwinder is called: the system's unwinders take locks and memory. Only active frames are
 * read. The search ends at the first frame outside the runtime, or at one that is not
 * understood; then that frame's library is the answer.
 *
 * Sources: https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/ehframechpt.html
 * and section 6.4 of DWARF 5. On arm64, and before glibc 2.35, the answer is the driver's caller,
 * even if that is the runtime.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <link.h>

#ifdef __x86_64__

enum {
	RULES = 256,
	MOST_FRAMES = 16, /* of the runtime */
	LARGEST_FRAME = 2048,
	RBP = 6, RSP = 7, /* DWARF's numbers */
	PCREL_SDATA4 = 0x1b, DATAREL_SDATA4 = 0x3b, UDATA4 = 0x03,
};

/*
 * A rule is one number, so that it is written at once. It has 48 bits for the address, 12 for
 * the size of the frame / 8, 3 for the slot below the frame's end with the caller's rbp (0: rbp is
 * unchanged, 1: this is the last frame), and 1 for whether rbp is the frame's base.
 */
static uint64_t rules[RULES];
enum { LAST = 1 << 1 };

/* As in glibc's <dlfcn.h> since 2.35. */
struct found_object {
	unsigned long long flags;
	const uint8_t *start, *end;
	const struct link_map *map;
	const uint8_t *frames; /* .eh_frame_hdr */
	unsigned long long reserved[7];
};

static void *find_object; /* of glibc: it takes no lock */

int frames_prepare(void)
{
	static int prepared;
	return __atomic_exchange_n(&prepared, 1, __ATOMIC_RELAXED) || loaded_function(&find_object, "_dl_find_object");
}

struct row {
	uint64_t base, size, slot;
};

struct reader {
	const uint8_t *at, *end;
	int bad;
};

static uint64_t take(struct reader *reader, size_t size)
{
	uint64_t value = 0;
	if ((size_t)(reader->end - reader->at) < size) {
		reader->bad = 1;
		reader->at = reader->end;
		return 0;
	}
	memcpy(&value, reader->at, size);
	reader->at += size;
	return value;
}

static uint64_t take_leb(struct reader *reader)
{
	uint64_t value = 0, byte = 0x80;
	for (unsigned int shift = 0; byte & 0x80 && !reader->bad; shift += 7) {
		byte = take(reader, 1);
		value |= shift < 64 ? (byte & 0x7f) << shift : 0;
	}
	return value;
}

/* The rest of a record, past its length. */
static struct reader record(const uint8_t *at, const uint8_t *end)
{
	struct reader reader = { .at = at, .end = end };
	uint64_t length = take(&reader, 4);
	if (length >= 0xfffffff0 || length > (uint64_t)(end - reader.at))
		reader.bad = 1;
	else
		reader.end = reader.at + length;
	return reader;
}

static void saved(struct row *row, uint64_t number, uint64_t slot)
{
	if (number == RBP)
		row->slot = slot;
}

/* Follows the instructions up to the address; 0: one of them is not understood. */
static int follow(struct reader *code, uint64_t from, uint64_t address, uint64_t unit, struct row *row)
{
	struct row kept[4];
	unsigned int depth = 0;
	while (code->at < code->end && !code->bad) {
		uint64_t op = take(code, 1), low = op & 0x3f;
		switch (op >= 0x40 ? op & 0xc0 : op) {
		case 0x02: case 0x03: case 0x04: /* advance_loc1, 2, 4 */
			low = take(code, (size_t)1 << (op - 2)); /* fall through */
		case 0x40: /* advance_loc */
			from += low * unit;
			if (from > address)
				return 1;
			break;
		case 0x05: /* offset_extended */
			low = take_leb(code); /* fall through */
		case 0x80: /* offset */
			saved(row, low, take_leb(code));
			break;
		case 0x06: case 0x07: case 0x08: /* restore_extended, undefined, same_value */
			low = take_leb(code); /* fall through */
		case 0xc0: /* restore */
			saved(row, low, 0);
			break;
		case 0x0a: /* remember_state */
			if (depth == sizeof kept / sizeof *kept)
				return 0;
			kept[depth++] = *row;
			break;
		case 0x0b: /* restore_state */
			if (depth == 0)
				return 0;
			*row = kept[--depth];
			break;
		case 0x0c: /* def_cfa */
			row->base = take_leb(code); /* fall through */
		case 0x0e: /* def_cfa_offset */
			row->size = take_leb(code);
			break;
		case 0x0d: /* def_cfa_register */
			row->base = take_leb(code);
			break;
		case 0x00: /* nop */
			break;
		default: /* for example an expression */
			return 0;
		}
	}
	return !code->bad;
}

/* Reads a record that several functions share (a CIE), up to its instructions. 0: it is unusual. */
static int read_common(struct reader *common, uint64_t *unit)
{
	char letters[8] = { 0 };
	uint64_t encoding = 0, zero = take(common, 4), version = take(common, 1);
	for (size_t i = 0; i < sizeof letters && (letters[i] = (char)take(common, 1)); i++)
		;
	*unit = take_leb(common);
	uint64_t factor = take_leb(common) & 0x7f, column = take_leb(common);
	if (zero || (version != 1 && version != 3) || letters[0] != 'z' || letters[7] || factor != 0x78 /* −8 */ || column != 16)
		return 0;
	uint64_t length = take_leb(common);
	if (length > (uint64_t)(common->end - common->at))
		return 0;
	const uint8_t *code = common->at + length;
	for (size_t i = 1; letters[i]; i++) {
		uint64_t byte = take(common, 1);
		if (letters[i] == 'R')
			encoding = byte;
		else if (letters[i] == 'P')
			(void)take(common, (byte & 7) == 3 ? 4 : 8);
		else if (letters[i] != 'L')
			return 0;
	}
	common->at = code;
	return !common->bad && encoding == PCREL_SDATA4;
}

static int32_t offset_at(const uint8_t *at)
{
	int32_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

/* The record of the function around an address: the last that begins at or below it. */
static const uint8_t *find_record(const struct found_object *object, uint64_t address)
{
	const uint8_t *header = object->frames, *table = header + 12;
	if (!header || object->end - header < 12 || header[0] != 1 || header[1] != PCREL_SDATA4 || header[2] != UDATA4 ||
	    header[3] != DATAREL_SDATA4)
		return NULL;
	uint32_t low = 0, high = (uint32_t)offset_at(header + 8);
	if (high > (size_t)(object->end - table) / 8)
		return NULL;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if ((uint64_t)(uintptr_t)header + (uint64_t)(int64_t)offset_at(table + 8 * (size_t)middle) <= address)
			low = middle;
		else
			high = middle;
	}
	const uint8_t *found = high ? header + offset_at(table + 8 * (size_t)low + 4) : NULL;
	return found >= object->start && found < object->end ? found : NULL;
}

static int read_row(const struct found_object *object, uint64_t address, struct row *row)
{
	const uint8_t *at = find_record(object, address);
	if (!at)
		return 0;
	struct reader own = record(at, object->end);
	uint64_t back = take(&own, 4), unit;
	if (own.bad || back > (uint64_t)(at + 4 - object->start))
		return 0;
	struct reader common = record(at + 4 - back, object->end);
	if (common.bad || !read_common(&common, &unit))
		return 0;
	uint64_t begin = (uint64_t)(uintptr_t)own.at;
	begin += (uint64_t)(int64_t)(int32_t)take(&own, 4);
	uint64_t length = take(&own, 4), skipped = take_leb(&own);
	if (own.bad || address - begin >= length || skipped > (uint64_t)(own.end - own.at))
		return 0;
	own.at += skipped;
	return follow(&common, begin, address, unit, row) && follow(&own, begin, address, unit, row);
}

static int is_runtime(const struct link_map *map)
{
	const char *slash = map && map->l_name ? strrchr(map->l_name, '/') : NULL;
	return slash && strncmp(slash + 1, "libcudart", 9) == 0;
}

static uint64_t make_rule(uint64_t pc)
{
	int (*find)(void *, struct found_object *) = (__typeof__(find))__atomic_load_n(&find_object, __ATOMIC_ACQUIRE);
	struct found_object object = { 0 };
	struct row row = { 0 };
	uint64_t rule = pc << 16 | LAST;
	/* The address before pc is looked up: a call may be the last instruction of its function. */
	if (!find || find((void *)(uintptr_t)(pc - 1), &object) != 0 || !is_runtime(object.map))
		return rule;
	if (!read_row(&object, pc - 1, &row) || (row.base != RSP && row.base != RBP) || row.size % 8 || row.size < 16 ||
	    row.size > LARGEST_FRAME || row.slot == 1 || row.slot > 7)
		return rule;
	return pc << 16 | row.size / 8 << 4 | row.slot << 1 | (row.base == RBP);
}

static uint64_t rule_of(uint64_t pc)
{
	uint64_t *place = &rules[table_hash(pc) % RULES], rule = __atomic_load_n(place, __ATOMIC_RELAXED);
	if (rule >> 16 != pc) {
		rule = make_rule(pc);
		__atomic_store_n(place, rule, __ATOMIC_RELAXED);
	}
	return rule;
}

#define WORD_AT(address) (*(const uint64_t *)(uintptr_t)(address))

uint64_t frame_caller(struct frame frame)
{
	for (int i = 0; i < MOST_FRAMES && frame.pc >> 48 == 0; i++) {
		uint64_t rule = rule_of(frame.pc), slot = rule >> 1 & 7, size = (rule >> 4 & 0xfff) * 8;
		if (slot == 1)
			break;
		uint64_t end = (rule & 1 ? frame.fp : frame.end) + size;
		/* rbp may hold anything if it is no frame's base. */
		if (end - frame.end < 8 || end - frame.end > LARGEST_FRAME || end % 8)
			break;
		if (slot)
			frame.fp = WORD_AT(end - 8 * slot);
		frame.pc = WORD_AT(end - 8);
		frame.end = end;
	}
	return frame.pc;
}

#else

int frames_prepare(void)
{
	return 1;
}

uint64_t frame_caller(struct frame frame)
{
	return frame.pc;
}

#endif

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void text_add(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	size_t room = text->size - text->used;
	int added = vsnprintf(text->at + text->used, room, format, arguments);
	va_end(arguments);
	if (added < 0 || (size_t)added >= room)
		text->overflowed = 1;
	else
		text->used += (size_t)added;
}

void text_quote(struct text *text, const char *string)
{
	text_add(text, "\"");
	int readable = utf8_valid(string, strlen(string));
	for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
		if (*c == '"' || *c == '\\')
			text_add(text, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f || (*c >= 0x80 && !readable))
			text_add(text, "?");
		else
			text_add(text, "%c", *c);
	}
	text_add(text, "\"");
}

int utf8_valid(const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + length;
	while (at < end) {
		unsigned char first = *at++;
		if (first < 0x80)
			continue;
		int more = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
		if (!more || end - at < more)
			return 0;
		/* The second byte excludes overlong forms, surrogates and values beyond Unicode. */
		unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
		unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
		if (*at < least || *at > most)
			return 0;
		for (at++; --more; at++)
			if (*at < 0x80 || *at > 0xbf)
				return 0;
	}
	return 1;
}

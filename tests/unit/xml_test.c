// SPDX-License-Identifier: GPL-2.0-only
/* Text in XML: names of the traced side can neither end an element nor break the document. */
#include "output/xml.h"
#include "unit.h"

static char *printed(const char *s, size_t n)
{
	return PRINTED(f, xml_print_start(f, s, n));
}

TEST(text_is_text)
{
	/* markup becomes entities */
	CHECK_STR(printed("a<b> & \"c\" 'd'", 99), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
	CHECK_STR(printed("]]></title><script>", 99), "]]&gt;&lt;/title&gt;&lt;script&gt;");
	/* bytes that no document may hold are escaped */
	CHECK_STR(printed("a\x01\x1b[0m\n\xff", 99), "a\\x01\\x1b[0m\\x0a\\xff");
	CHECK_STR(printed("\xef\xbf\xbe|\xef\xbf\xbf|\xef\xbf\xbd", 99),
		  "\\xef\\xbf\\xbe|\\xef\\xbf\\xbf|\xef\xbf\xbd");
	CHECK_STR(printed("\xed\xa0\x80", 99), "\\xed\\xa0\\x80"); /* a surrogate */
	/* characters are counted not bytes */
	CHECK_EQ(xml_length("gr\xc3\xbc\xc3\x9f<\x01"), 6);
	CHECK_STR(printed("gr\xc3\xbc\xc3\x9f<", 3), "gr\xc3\xbc");
	CHECK_STR(printed("<<<<", 2), "&lt;&lt;");
	CHECK_STR(printed("abc", 0), "");
}

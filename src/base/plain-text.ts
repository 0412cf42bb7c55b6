/** Controls, format characters (bidi, zero width), line and paragraph separators, halves of surrogate pairs; no tab. */
const UNSEEN = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Removes characters that move a terminal's cursor or change the order in which text is shown. */
export const plainText = (text: string): string => text.replaceAll(UNSEEN, '');

import { stripVTControlCharacters } from 'node:util';

/** Controls, format characters (bidi, zero width), line and paragraph separators, halves of surrogate pairs; no tab. */
const UNSEEN = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Returns lines without sequences and characters that control a terminal. */
export const plainLines = (text: string): string =>
  stripVTControlCharacters(text).split('\n').map(plainText).join('\n');

/** Removes characters that move a terminal's cursor or change the order in which text is shown. */
export const plainText = (text: string): string => text.replaceAll(UNSEEN, '');

import type { ChatMessage, ChatRequest } from '../wire/chat/chat.ts';

/**
 * What two prompts share, known without rendering either (batch-engine.md, "From upload to chunks"): cumulative
 * 32-bit hashes of the tools and then of role and content of every message, one each at 256, 512 ... 32 K characters.
 * Every cut moves back to the last message boundary since the previous cut, so that prompts which share a whole system
 * message meet there whatever its length. 0 where the prompt is shorter than the level.
 *
 * Characters are UTF-16 units, for English the same as bytes. It runs for every line of an upload: the beginning of a
 * prompt is joined, copied out natively as it stands in memory, and hashed two characters at a time.
 */
export const prefixLevels = 8;
const firstLevel = 256;
const longest = firstLevel << (prefixLevels - 1);

/** The beginning of the prompt at hand. One is enough: hashing is synchronous. */
const units = new Uint16Array(longest);
const bytes = Buffer.from(units.buffer);
const words = new Uint32Array(units.buffer);

export function prefixHashes({ tools, messages }: Pick<ChatRequest, 'messages' | 'tools'>): Uint32Array {
  /** Where tools and messages end. */
  const ends: number[] = [];
  let text = '';
  if (tools && tools.length > 0) {
    text = JSON.stringify(tools);
    ends.push(text.length);
  }
  for (const message of messages) {
    if (text.length >= longest) break;
    text += `${message.role}\0${contentOf(message)}\0`;
    ends.push(text.length);
  }
  if (text.length < firstLevel) return new Uint32Array(prefixLevels);
  return hashLevels(bytes.write(text, 'utf16le') / 2, ends);
}

function contentOf({ content, tool_calls: calls }: ChatMessage): string {
  let text = '';
  if (typeof content === 'string') text = content.length > longest ? content.slice(0, longest) : content;
  else for (const part of content ?? []) text += part.text ?? JSON.stringify(part);
  return calls ? text + JSON.stringify(calls) : text;
}

function hashLevels(length: number, ends: readonly number[]): Uint32Array {
  const hashes = new Uint32Array(prefixLevels);
  const state = { even: 0, odd: 0, words: 0 };
  let next = 0;
  for (let level = 0; level < prefixLevels; level += 1) {
    const cut = firstLevel << level;
    if (cut > length) break;
    let end = cut;
    for (; next < ends.length && ends[next]! <= cut; next += 1) end = ends[next]!;
    mixWords(state, (end >> 2) * 2);
    hashes[level] = finish(state, end);
  }
  return hashes;
}

/** Two lanes that do not wait for each other. */
interface Lanes {
  even: number;
  odd: number;
  /** Words mixed so far, an even number. */
  words: number;
}

function mixWords(state: Lanes, to: number): void {
  let { even, odd } = state;
  for (let at = state.words; at < to; at += 2) {
    const one = Math.imul(words[at]!, 0xcc9e2d51);
    const two = Math.imul(words[at + 1]!, 0x1b873593);
    even = (Math.imul(even, 0x01000193) + (one ^ (one >>> 15))) | 0;
    odd = (Math.imul(odd, 0x01000193) + (two ^ (two >>> 15))) | 0;
  }
  state.even = even;
  state.odd = odd;
  state.words = to;
}

/** The hash of the first `end` characters, most of which are mixed. Never 0, which means "shorter". */
function finish(state: Lanes, end: number): number {
  let hash = state.even ^ ((state.odd << 16) | (state.odd >>> 16)) ^ end;
  for (let at = state.words * 2; at < end; at += 1) hash = Math.imul(hash ^ units[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}

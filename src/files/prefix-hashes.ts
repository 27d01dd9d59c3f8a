import type { ChatMessage, ChatRequest } from '../wire/chat/chat.ts';

/**
 * Hashes of prompt prefixes, without rendering the prompt (batch-engine.md, "From upload to chunks"): cumulative 32-bit hashes of
 * the tools and of role and content of every message, at 256, 512 ... 32 K characters. Each cut moves back to the last message
 * boundary since the previous cut, so that prompts with the same system message share a hash whatever its length. 0 where
 * the prompt is shorter than the level.
 *
 * Only the lower byte of each character counts. Every line of an upload is hashed, so the prompt is copied natively and hashed
 * four characters at a time.
 */
export const prefixLevels = 8;
const firstLevel = 256;
const longest = firstLevel << (prefixLevels - 1);

/** Buffer for the start of the prompt; hashing is synchronous, so that one suffices. */
const bytes = Buffer.alloc(longest);
const words = new Uint32Array(bytes.buffer, bytes.byteOffset, longest / 4);

/** @param hashes target, zeroed from `at` on @returns `hashes` */
export function prefixHashes(
  { tools, messages }: Pick<ChatRequest, 'messages' | 'tools'>,
  hashes = new Uint32Array(prefixLevels),
  at = 0,
): Uint32Array {
  /** Ends of the tools and of each message. */
  const ends: number[] = [];
  let length = 0;
  if (tools && tools.length > 0) {
    length = put(JSON.stringify(tools), 0);
    ends.push(length);
  }
  for (const message of messages) {
    if (length >= longest) break;
    length = putMark(message.role, length);
    length = putMark('', putContent(message, length));
    ends.push(length);
  }
  hashLevels(length, ends, hashes, at);
  return hashes;
}

/** @returns the end of the text, or of the buffer */
function put(text: string, at: number): number {
  return at + bytes.write(text, at, 'latin1');
}

/** Writes a short text and a zero. */
function putMark(text: string, at: number): number {
  const end = Math.min(longest, at + text.length + 1);
  for (let to = at; to < end; to += 1) bytes[to] = text.charCodeAt(to - at);
  return end;
}

function putContent({ content, tool_calls: calls }: ChatMessage, from: number): number {
  let at = from;
  if (typeof content === 'string') at = put(content, at);
  else for (const part of content ?? []) at = put(part.text ?? JSON.stringify(part), at);
  return calls ? put(JSON.stringify(calls), at) : at;
}

function hashLevels(length: number, ends: readonly number[], hashes: Uint32Array, at: number): void {
  const state = { even: 0, odd: 0, words: 0 };
  let next = 0;
  for (let level = 0; level < prefixLevels; level += 1) {
    const cut = firstLevel << level;
    if (cut > length) break;
    let end = cut;
    for (; next < ends.length && ends[next]! <= cut; next += 1) end = ends[next]!;
    mixWords(state, (end >> 3) * 2);
    hashes[at + level] = finish(state, end);
  }
}

/** Two independent accumulators, which the processor can mix in parallel. */
interface HashState {
  even: number;
  odd: number;
  /** Words mixed so far, an even number. */
  words: number;
}

function mixWords(state: HashState, to: number): void {
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

/** Hash of the first `end` characters. Never 0, which means "shorter". */
function finish(state: HashState, end: number): number {
  let hash = state.even ^ ((state.odd << 16) | (state.odd >>> 16)) ^ end;
  for (let at = state.words * 4; at < end; at += 1) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}

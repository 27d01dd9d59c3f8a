import type { ChatMessage, ChatRequest } from '../chat/chat.ts';
import { utf8Length } from '../utf8.ts';

/**
 * What two prompts share, known without rendering either (batch-engine.md, "From upload to chunks"): cumulative
 * 32-bit hashes of the tools and then of role and content of every message, one each at 256, 512 ... 32 K bytes. Every
 * cut moves back to the last message boundary since the previous cut, so that prompts which share a whole system message
 * meet there whatever its length. 0 where the prompt is shorter than the level.
 *
 * It runs for every line of an upload: the beginning of a prompt is joined, encoded once, and hashed by words.
 */
export const prefixLevels = 8;
const firstLevel = 256;
const longest = firstLevel << (prefixLevels - 1);

/** The beginning of the prompt at hand. One is enough: hashing is synchronous. */
const bytes = new Uint8Array(longest);
const words = new Uint32Array(bytes.buffer);
const encoder = new TextEncoder();

export function prefixHashes(request: Pick<ChatRequest, 'messages' | 'tools'>): Uint32Array {
  const { text, ends } = promptStart(request);
  const { read, written } = encoder.encodeInto(text, bytes);
  // A character that has no room any more ends the last level all the same.
  const length = written > longest - 4 ? longest : written;
  bytes.fill(0, written, length);
  return hashLevels(length, read === written ? ends : bytePositions(text, ends));
}

interface PromptStart {
  text: string;
  /** Where tools and messages end in it. */
  ends: number[];
}

/** At least the first 32 K bytes of a prompt, where there are as many. */
function promptStart({ tools, messages }: Pick<ChatRequest, 'messages' | 'tools'>): PromptStart {
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
  return { text, ends };
}

function bytePositions(text: string, ends: readonly number[]): number[] {
  let from = 0;
  let position = 0;
  return ends.map((end) => {
    // Behind the last level nothing matters.
    if (position < longest) position += utf8Length(text.slice(from, Math.min(end, from + longest)));
    from = end;
    return position;
  });
}

function contentOf({ content, tool_calls: calls }: ChatMessage): string {
  let text = '';
  if (typeof content === 'string') text = content.length > longest ? content.slice(0, longest) : content;
  else for (const part of content ?? []) text += part.text ?? JSON.stringify(part);
  return calls ? text + JSON.stringify(calls) : text;
}

function hashLevels(length: number, ends: readonly number[]): Uint32Array {
  const hashes = new Uint32Array(prefixLevels);
  let state = 0;
  let hashedWords = 0;
  let next = 0;
  for (let level = 0; level < prefixLevels; level += 1) {
    const cut = firstLevel << level;
    if (cut > length) break;
    let end = cut;
    for (; next < ends.length && ends[next]! <= cut; next += 1) end = ends[next]!;
    state = mixWords(state, hashedWords, end >> 2);
    hashedWords = end >> 2;
    hashes[level] = finish(state, end);
  }
  return hashes;
}

/** Four bytes at a time: each word is scrambled by itself, so that the chain between words stays short. */
function mixWords(start: number, from: number, to: number): number {
  let hash = start;
  for (let at = from; at < to; at += 1) {
    const word = Math.imul(words[at]!, 0xcc9e2d51);
    hash = (Math.imul(hash, 0x01000193) + (word ^ (word >>> 15))) | 0;
  }
  return hash;
}

/** The hash of the first `end` bytes, of which `state` has the whole words. Never 0, which means "shorter". */
function finish(state: number, end: number): number {
  let hash = state ^ end;
  for (let at = end & ~3; at < end; at += 1) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}

import type { ChatMessage, ChatRequest } from '../chat/chat.ts';

/**
 * What two prompts share, known without rendering either (batch-engine.md, "From upload to chunks"): cumulative
 * 32-bit hashes of the tools and then `role NUL content NUL` per message, one each at 256, 512 ... 32 K bytes. Every cut
 * moves back to the last message boundary since the previous cut, so that prompts which share a whole system message
 * meet there whatever its length. 0 where the prompt is shorter than the level.
 */
export const prefixLevels = 8;
const firstLevel = 256;
const longest = firstLevel << (prefixLevels - 1);

/** The beginning of the prompt at hand. One is enough: hashing is synchronous. */
const bytes = new Uint8Array(longest);
const words = new Uint32Array(bytes.buffer);
const encoder = new TextEncoder();

export function prefixHashes(request: Pick<ChatRequest, 'messages' | 'tools'>): Uint32Array {
  const prompt = new PromptStart();
  if (request.tools && request.tools.length > 0) {
    prompt.add(JSON.stringify(request.tools));
    prompt.endMessage();
  }
  for (const message of request.messages) {
    if (prompt.full) break;
    prompt.add(`${message.role}\0`);
    addContent(prompt, message);
    prompt.add('\0');
    prompt.endMessage();
  }
  return hashLevels(prompt);
}

function addContent(prompt: PromptStart, message: ChatMessage): void {
  const { content } = message;
  if (typeof content === 'string') prompt.add(content);
  else for (const part of content ?? []) prompt.add(part.text ?? JSON.stringify(part));
  if (message.tool_calls) prompt.add(JSON.stringify(message.tool_calls));
}

/** Fills `bytes` with the first 32 K of a prompt. */
class PromptStart {
  length = 0;
  full = false;
  readonly boundaries: number[] = [];

  add(text: string): void {
    if (this.full) return;
    const { read, written } = encoder.encodeInto(text, bytes.subarray(this.length));
    this.length += written;
    this.full = this.length === longest;
    if (read === text.length) return;
    // The next character has no room: what little is left counts as it is.
    bytes.fill(0, this.length);
    this.length = longest;
    this.full = true;
  }

  endMessage(): void {
    this.boundaries.push(this.length);
  }
}

function hashLevels({ length, boundaries }: PromptStart): Uint32Array {
  const hashes = new Uint32Array(prefixLevels);
  let state = 0;
  let hashedWords = 0;
  let next = 0;
  for (let level = 0; level < prefixLevels; level += 1) {
    const cut = firstLevel << level;
    if (cut > length) break;
    let end = cut;
    while (next < boundaries.length && boundaries[next]! <= cut) {
      if (boundaries[next]! > cut / 2 || level === 0) end = boundaries[next]!;
      next += 1;
    }
    const whole = end >> 2;
    state = mixWords(state, hashedWords, whole);
    hashedWords = whole;
    hashes[level] = finish(state, end);
  }
  return hashes;
}

/** MurmurHash3's step, four bytes at a time. */
function mixWords(start: number, from: number, to: number): number {
  let hash = start;
  for (let at = from; at < to; at += 1) {
    let word = Math.imul(words[at]!, 0xcc9e2d51);
    word = Math.imul((word << 15) | (word >>> 17), 0x1b873593);
    hash ^= word;
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
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

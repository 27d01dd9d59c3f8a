import type { ChatMessage, ChatRequest } from '../chat/chat.ts';

/**
 * What two prompts share, known without rendering either (batch-engine.md, "From upload to chunks"): cumulative
 * 32-bit hashes of the tools and then `role NUL content NUL` per message, one each at 256, 512 ... 32 K characters.
 * Every cut moves back to the last message boundary since the previous cut, so that prompts which share a whole
 * system message meet there whatever its length. 0 where the prompt is shorter than the level.
 *
 * Characters are UTF-16 units: for English they are bytes, and elsewhere they follow the tokens more closely.
 */
export const prefixLevels = 8;
const firstLevel = 256;

export function prefixHashes(request: Pick<ChatRequest, 'messages' | 'tools'>): Uint32Array {
  const hashes = new Uint32Array(prefixLevels);
  const hasher = new PrefixHasher(hashes);
  if (request.tools && request.tools.length > 0) {
    hasher.add(JSON.stringify(request.tools));
    hasher.boundary();
  }
  for (const message of request.messages) {
    if (hasher.full) break;
    hasher.add(message.role);
    hasher.add('\0');
    addContent(hasher, message);
    hasher.add('\0');
    hasher.boundary();
  }
  return hashes;
}

function addContent(hasher: PrefixHasher, message: ChatMessage): void {
  const { content } = message;
  if (typeof content === 'string') hasher.add(content);
  else for (const part of content ?? []) hasher.add(part.text ?? JSON.stringify(part));
  if (message.tool_calls) hasher.add(JSON.stringify(message.tool_calls));
}

class PrefixHasher {
  readonly #hashes: Uint32Array;
  #hash = 0x811c9dc5;
  #length = 0;
  #level = 0;
  /** The hash at the last boundary since the previous cut, or 0. */
  #atBoundary = 0;

  constructor(hashes: Uint32Array) {
    this.#hashes = hashes;
  }

  get full(): boolean {
    return this.#level === prefixLevels;
  }

  add(text: string): void {
    let from = 0;
    while (from < text.length && !this.full) {
      const cut = firstLevel << this.#level;
      const to = Math.min(text.length, from + cut - this.#length);
      this.#hash = fnv(text, from, to, this.#hash);
      this.#length += to - from;
      from = to;
      if (this.#length === cut) this.#close();
    }
  }

  boundary(): void {
    // A boundary right at the previous cut belongs to that cut.
    const previousCut = this.#level === 0 ? 0 : firstLevel << (this.#level - 1);
    if (this.#length > previousCut) this.#atBoundary = finish(this.#hash);
  }

  #close(): void {
    this.#hashes[this.#level] = this.#atBoundary || finish(this.#hash);
    this.#level += 1;
    this.#atBoundary = 0;
  }
}

/** FNV-1a over UTF-16 units. */
function fnv(text: string, from: number, to: number, start: number): number {
  let hash = start;
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** Spreads the last characters over all bits, and leaves 0 to mean "shorter". */
function finish(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  return mixed >>> 0 || 1;
}

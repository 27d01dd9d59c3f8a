import type { ToolCall } from '../../../../wire/chat/chat.ts';

/** `arguments` is JSON text. */
export type WrittenCall = ToolCall['function'];

/** A piece of what a model wrote: what it thought, what it says, a call, or the marks between them. */
export type Segment =
  | { kind: 'thought' | 'said' | 'mark'; text: string }
  | { kind: 'call'; call: WrittenCall };

/** Cuts a generated text into segments, however it comes in pieces. */
export interface Segmenter {
  push(text: string): Segment[];
  end(): Segment[];
}

import type { ToolCall } from '../../../../wire/chat/chat.ts';

/** `arguments` is JSON text. */
export type WrittenCall = ToolCall['function'];

/** Piece of the output of a model: reasoning, content, a call, or the markers between them. */
export type Segment =
  | { kind: 'reasoning' | 'content' | 'marker'; text: string }
  | { kind: 'call'; call: WrittenCall };

/** Splits a generated text into segments, wherever its pieces are cut. */
export interface Segmenter {
  push(text: string): Segment[];
  end(): Segment[];
}

import { sum } from '../../../base/sum.ts';
import { splitTextInputs, type TextInputs } from '../../shared/text-inputs.ts';
import type { ChatRequest } from '../chat.ts';

/** Estimated tokens of an image, a piece of audio or a file. */
export const mediaTokens = 1_000;
const bytesPerToken = 4;
const utf8 = new TextEncoder();

/** Estimated tokens of text: one per four bytes of UTF-8, as in English. */
export function estimateText(text: string): number {
  return tokensOfBytes(utf8.encode(text).length);
}

/** Estimated tokens of one or several texts; token ids are counted. */
export function estimateTexts(inputs: TextInputs): number {
  return sum(
    splitTextInputs('', inputs).map(({ input }) =>
      typeof input === 'string' ? estimateText(input) : input.length,
    ),
  );
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

/** Estimated tokens of a prompt: its text, and a fixed number for each image, audio or file. */
export function estimatePrompt({ messages, tools }: ChatRequest): number {
  // Nearly all prompts; a function for each member makes the text several times slower.
  if (!tools && messages.every(isPlain)) return estimateText(JSON.stringify([messages, []]));
  let media = 0;
  const text = JSON.stringify([messages, tools ?? []], (key, value: unknown) => {
    if (!isMedia(key, value)) return value;
    media += 1;
    return '';
  });
  return estimateText(text) + media * mediaTokens;
}

/** True for a message of text, which has no media. */
function isPlain({ content, ...more }: ChatRequest['messages'][number]): boolean {
  return typeof content === 'string' && Object.keys(more).length === 1;
}

function isMedia(key: string, value: unknown): boolean {
  if (key === 'url') return typeof value === 'string' && value.startsWith('data:');
  const member = key === 'input_audio' ? 'data' : key === 'file' ? 'file_data' : undefined;
  if (member === undefined || typeof value !== 'object' || value === null) return false;
  return typeof (value as Record<string, unknown>)[member] === 'string';
}

import { truncate } from '../../base/truncate.ts';
import type { ChatChoice, ChatRequest } from '../../wire/chat/chat.ts';
import { sampleValue } from './sample-value.ts';

/** A choice without its index, and its length in tokens. */
export interface ScriptedAnswer extends Pick<ChatChoice, 'message' | 'finish_reason' | 'stop_reason'> {
  tokens: number;
}

/** The same answer to the same request: a value of the requested format, or an echo of the last user message. */
export function answerTo(request: ChatRequest, toValue = sampleValue): ScriptedAnswer {
  const prompt = truncate(
    textOf(request.messages.findLast(({ role }) => role === 'user')?.content).trim(),
    200,
  );
  const format = request.response_format;
  if (format?.type === 'json_schema')
    return writeAnswer(request, JSON.stringify(toValue(format.json_schema.schema ?? {})));
  return writeAnswer(
    request,
    format?.type === 'json_object' ? JSON.stringify({ answer: prompt }) : `Echo: ${prompt}`,
  );
}

/** `text` as an answer, cut at the first stop sequence and at the token limit of the request. */
export function writeAnswer(request: ChatRequest, text: string): ScriptedAnswer {
  const stops = [request.stop ?? []].flat().filter((stop) => text.includes(stop));
  const [stop] = stops.toSorted((a, b) => text.indexOf(a) - text.indexOf(b));
  const tokens = tokenize(stop === undefined ? text : text.slice(0, text.indexOf(stop)));
  const limit = request.max_completion_tokens ?? request.max_tokens ?? Infinity;
  const isCut = tokens.length > limit;
  const content = tokens.slice(0, limit).join('');
  return {
    message: { role: 'assistant', content, refusal: null },
    finish_reason: isCut ? 'length' : 'stop',
    ...(stop !== undefined && !isCut && { stop_reason: stop }),
    tokens: Math.min(tokens.length, limit),
  };
}

/** Tokens of a text: up to four characters of a word, with the white space before them. Joined, they are the text again. */
export function tokenize(text: string): string[] {
  return text.match(/\s*\S{1,4}|\s+$/gu) ?? [];
}

/** Tokens of the rendered prompt of a chat. */
export function promptTokens({ tools, messages }: ChatRequest): string[] {
  const turns = messages.map(({ role, content }) => `${role}\n${textOf(content)}\n`);
  return tokenize((tools?.length ? `${JSON.stringify(tools)}\n` : '') + turns.join(''));
}

export function textOf(content: ChatRequest['messages'][number]['content']): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('');
}

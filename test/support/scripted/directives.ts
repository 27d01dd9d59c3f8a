import { textOf } from '../../../src/engines/scripted/answer.ts';
import type { ChatRequest } from '../../../src/wire/chat/chat.ts';

/**
 * Instructions for the directed engine, as `[[...]]` in the last user message of a request:
 *
 *   [[delay 200]]            answers after 200 ms of the clock instead of the engine's own delay
 *   [[fail 500]]             fails like an upstream with that status; also `timeout`, `unreachable`, `invalid`
 *   [[fail 500 2]]           fails the first two times that this prompt comes, then answers
 *   [[tokens 50]]            answers with exactly 50 tokens
 *   [[json {"a":1}]]         answers with this text
 *   [[tool name {"a":1}]]    calls this tool with these arguments
 *   [[bad-schema]]           breaks the guarantee: text that misses the schema, or no call of the forced tool
 *   [[bad-schema 1]]         only the first time that this prompt comes
 *   [[cut 2]]                breaks the stream off after two chunks
 *   [[hang]]                 never answers; only an abort ends it
 */
export interface Directives {
  delayMs?: number;
  fail?: { how: string; times: number };
  tokens?: number;
  json?: string;
  tool?: { name: string; arguments: string };
  badSchema?: { times: number };
  cut?: number;
}

export interface Prompt {
  /** Last user message without its directives. */
  text: string;
  directives: Directives;
}

/** A delay without end, within the limit of a timer. */
const hangMs = 2 ** 31 - 1;

const directive = /\[\[(delay|fail|tokens|json|tool|bad-schema|cut|hang)(?:\s+([\s\S]*?))?\]\](?!\])/g;

export function readPrompt({ messages }: Pick<ChatRequest, 'messages'>): Prompt {
  const message = textOf(messages.findLast(({ role }) => role === 'user')?.content);
  const directives: Directives = {};
  const text = message.replaceAll(directive, (_, name: string, value: string | undefined) => {
    read(directives, name, value?.trim() ?? '');
    return '';
  });
  return { text: text.trim(), directives };
}

function read(into: Directives, name: string, value: string): void {
  const [first = '', second] = value.split(/\s+/);
  if (name === 'delay') into.delayMs = Number(first);
  else if (name === 'tokens') into.tokens = Number(first);
  else if (name === 'cut') into.cut = Number(first);
  else if (name === 'hang') into.delayMs = hangMs;
  else if (name === 'json') into.json = value;
  else if (name === 'fail') into.fail = { how: first, times: second ? Number(second) : Infinity };
  else if (name === 'bad-schema') into.badSchema = { times: first ? Number(first) : Infinity };
  else into.tool = { name: first, arguments: value.slice(first.length).trim() || '{}' };
}

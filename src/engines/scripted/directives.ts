import type { ChatRequest } from '../../wire/chat/chat.ts';

/**
 * What a prompt asks of the scripted engine, read from `[[...]]` in its last user message:
 *
 *   [[delay 200]]            answers after 200 ms of the clock instead of the engine's own delay
 *   [[fail 500]]             fails as an upstream's status would; also `timeout`, `unreachable`, `invalid`
 *   [[fail 500 2]]           fails the first two times this prompt is seen, then answers
 *   [[tokens 50]]            answers with exactly 50 tokens
 *   [[json {"a":1}]]         answers with this text
 *   [[tool name {"a":1}]]    calls this tool with these arguments
 *   [[bad-schema]]           breaks what was promised: text that misses the schema, or no call of the forced tool
 *   [[bad-schema 1]]         only the first time this prompt is seen
 *   [[cut 2]]                a stream that fails after two chunks
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
  hang?: boolean;
}

export interface Prompt {
  /** The last user message without its directives. */
  text: string;
  directives: Directives;
}

/** The text of the last user message, and what it asks for. */
export function readPrompt(request: Pick<ChatRequest, 'messages'>): Prompt {
  const last = request.messages.findLast((message) => message.role === 'user');
  return parsePrompt(textOf(last?.content));
}

export function textOf(content: ChatRequest['messages'][number]['content']): string {
  if (typeof content === 'string') return content;
  return content?.map((part) => part.text ?? '').join('') ?? '';
}

const directive = /\[\[(delay|fail|tokens|json|tool|bad-schema|cut|hang)(?:\s+([\s\S]*?))?\]\](?!\])/g;

export function parsePrompt(message: string): Prompt {
  const directives: Directives = {};
  if (!message.includes('[[')) return { text: message.trim(), directives };
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
  else if (name === 'hang') into.hang = true;
  else if (name === 'json') into.json = value;
  else if (name === 'fail') into.fail = { how: first, times: second ? Number(second) : Infinity };
  else if (name === 'bad-schema') into.badSchema = { times: first ? Number(first) : Infinity };
  else into.tool = { name: first, arguments: value.slice(first.length).trim() || '{}' };
}

import { hash } from 'node:crypto';
import type { ChatMessage, ContentPart } from '../../../wire/chat/chat.ts';
import { readFreeText } from '../../../wire/chat/free-text.ts';
import type { Shape } from '../../../wire/json/pick-members.ts';
import type { FlavorTraits } from '../flavors/traits.ts';

export interface MessageOptions {
  traits: Pick<
    FlavorTraits,
    'developerRole' | 'signsCalls' | 'callIds' | 'thinkingParts' | 'cacheControl' | 'prefixesLast'
  >;
  /** Members of messages that the server is sent. */
  shape: Shape | undefined;
  /** Names of the tools with free text. */
  customTools: ReadonlySet<string> | undefined;
}

/** Adapts a message to a server; the same object where nothing differs. `message` lacks what is not sent of `original`. */
export function adaptMessage(
  message: ChatMessage,
  original: ChatMessage,
  isLast: boolean,
  { traits, shape, customTools }: MessageOptions,
): ChatMessage {
  const plain = !traits.cacheControl && hasMarks(original) ? asText(message) : message;
  const adapted = adaptRole(withReasoning(plain, original, shape), traits);
  return withCustomCalls(isLast && traits.prefixesLast ? asPrefix(adapted) : adapted, customTools);
}

const reasoningNames = ['reasoning_content', 'reasoning'] as const;

/** Adds the reasoning under every name that the server may read: versions of vLLM read one or the other. */
function withReasoning(message: ChatMessage, original: ChatMessage, shape: Shape | undefined): ChatMessage {
  const reasoning = original.reasoning || original.reasoning_content;
  if (!reasoning || typeof shape !== 'object') return message;
  const missing = reasoningNames.filter((name) => shape.has(name) && !message[name]);
  if (missing.length === 0) return message;
  return { ...message, ...Object.fromEntries(missing.map((name) => [name, reasoning])) };
}

/** Adapts the role, the reasoning, and the ids and signatures of calls. */
function adaptRole(given: ChatMessage, traits: MessageOptions['traits']): ChatMessage {
  const { developerRole, signsCalls, callIds, thinkingParts } = traits;
  if (given.role === 'developer') return developerRole ? given : { ...given, role: 'system' };
  const message = thinkingParts ? withThinkingPart(given) : given;
  if (callIds) return withValidIds(message, callIds);
  const [first, ...others] = message.tool_calls ?? [];
  if (!first || first.extra_content || signsCalls !== 'needed') return message;
  return { ...message, tool_calls: [{ ...first, extra_content: unsigned }, ...others] };
}

/** Documented for the first call of a message that another model made, or whose signature a client lost. */
const unsigned = { google: { thought_signature: 'skip_thought_signature_validator' } };

function hasMarks({ content }: ChatMessage): boolean {
  return Array.isArray(content) && content.some(({ cache_control: mark }) => (mark ?? null) !== null);
}

/** Joins text that was split only for cache marks, because not every template takes parts. */
function asText(message: ChatMessage): ChatMessage {
  const parts = message.content as ContentPart[];
  const keepsParts = message.role === 'user' || message.role === 'tool';
  if ((keepsParts && parts.length > 1) || parts.some(({ type }) => type !== 'text')) return message;
  return { ...message, content: parts.map(({ text }) => text).join('') };
}

function asPrefix(message: ChatMessage): ChatMessage {
  const isText = message.role === 'assistant' && !message.tool_calls?.length;
  return isText ? Object.assign({ ...message }, { prefix: true }) : message;
}

/** Moves the reasoning to the first part of the content. */
function withThinkingPart(message: ChatMessage): ChatMessage {
  if (message.reasoning === undefined && message.reasoning_content === undefined) return message;
  const { reasoning, reasoning_content: older, ...rest } = message;
  const text = reasoning || older;
  if (!text || rest.role !== 'assistant') return rest;
  const { content } = rest;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text }] };
  return { ...rest, content: [thinking, ...parts.filter((part) => part.text !== '')] };
}

/** Replaces invalid ids of calls and results, equal ids by equal ones. */
function withValidIds(message: ChatMessage, valid: RegExp): ChatMessage {
  const { tool_calls: calls, tool_call_id: answered } = message;
  if (typeof answered === 'string' && !valid.test(answered))
    return { ...message, tool_call_id: shortId(answered) };
  if (calls?.every(({ id }) => valid.test(id)) ?? true) return message;
  const renamed = calls!.map((call) => (valid.test(call.id) ? call : { ...call, id: shortId(call.id) }));
  return { ...message, tool_calls: renamed };
}

const shortId = (id: string) =>
  hash('sha256', id, 'base64')
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .slice(0, 9);

/** Restores calls of tools with free text. */
function withCustomCalls(message: ChatMessage, names: ReadonlySet<string> | undefined): ChatMessage {
  const { tool_calls: calls } = message;
  if (!names || !calls?.some((call) => names.has(call.function.name))) return message;
  const restored = calls.map((call) => {
    const { id, function: called } = call;
    if (!names.has(called.name)) return call;
    return { id, type: 'custom', custom: { name: called.name, input: readFreeText(called.arguments) } };
  });
  return { ...message, tool_calls: restored as unknown as typeof calls };
}

import { hash } from 'node:crypto';
import type { ChatMessage, ChatRequest, ContentPart } from '../../../wire/chat/chat.ts';
import { readFreeText } from '../../../wire/chat/free-text.ts';
import { type CompletionsRequest, defaultMaxTokens } from '../../../wire/completions/completions.ts';
import type { EmbeddingsRequest } from '../../../wire/embeddings/embeddings.ts';
import { editedText } from '../../../wire/json/edit-body.ts';
import type { Edits } from '../../../wire/json/edit-members.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import { hasOtherMembers, type Members, pickMembers } from '../../../wire/json/pick-members.ts';
import type { ProbeReport } from '../../engines.ts';
import type { FlavorTraits } from '../flavors/traits.ts';
import { ofChatsAlone, toolMembers } from './request-members.ts';
import { effortMembers } from './reasoning-effort.ts';
import { sentSchemas } from './sent-schemas.ts';
import { withThoughts } from './thoughts.ts';

/** What a server is told, and in which words. */
export interface RequestProfile {
  /** The upstream's name of the model. */
  model: string;
  traits: Pick<
    FlavorTraits,
    | 'names'
    | 'developerRole'
    | 'signsCalls'
    | 'callIds'
    | 'effort'
    | 'openLimit'
    | 'progress'
    | 'thinkingParts'
    | 'schemas'
    | 'rootUnions'
    | 'cacheControl'
    | 'prefixesLast'
  >;
  /** Whether it gets tools with free text as they are. */
  customTools: boolean;
  /** What the server told of its model. */
  report: ProbeReport;
  /** What goes on at all. */
  members: Members;
  /** Members of the request that its operator lets through. */
  passThrough: readonly string[];
}

/** The text to send for a chat request: the client's bytes, but for what must differ. */
export function chatText(request: JsonBody<ChatRequest>, stream: boolean, wording: RequestProfile): string {
  const { traits, customTools, report: told, members } = wording;
  const { body, edits } = allowed(request, wording);
  const { value } = body;
  setStream(edits, value, stream, members);
  if (stream && traits.progress) edits.set(traits.progress, 'true');
  const schemas = sentSchemas(value, traits);
  for (const [name, member] of Object.entries(schemas)) edits.set(name, JSON.stringify(member));
  const customs = customTools ? setCustomTools(edits, request.value, { ...value, ...schemas }) : undefined;
  const given = request.value.messages;
  const theirs = (message: ChatMessage, at: number) => {
    const isUnmarked = !traits.cacheControl && hasMarks(given[at]!);
    const text = isUnmarked ? asText(message) : message;
    const thinking = withThoughts(text, given[at]!, members.get('messages'));
    const theirMessage = adaptMessage(thinking, traits);
    const isLast = at === value.messages.length - 1;
    return withCustomCalls(isLast && traits.prefixesLast ? asPrefix(theirMessage) : theirMessage, customs);
  };
  if (value.messages.some((message, at) => theirs(message, at) !== message))
    edits.set('messages', JSON.stringify(value.messages.map(theirs)));
  // A model that does not think is not told how hard: some servers refuse that.
  const effort = told.thinking === false ? 'left out' : traits.effort;
  for (const [name, member] of Object.entries(effortMembers(value, effort)))
    edits.set(name, member === null ? null : JSON.stringify(member));
  // Of two limits the newer one goes before the older, and some servers refuse both.
  const hasBoth = isGiven(value.max_completion_tokens) && isGiven(value.max_tokens);
  if (hasBoth) edits.set('max_tokens', null);
  setNames(edits, hasBoth ? { ...value, max_tokens: null } : value, traits);
  const limit = value.max_completion_tokens ?? value.max_tokens ?? 0;
  if (traits.openLimit && limit >= (told.contextLength ?? Number.POSITIVE_INFINITY))
    for (const name of ['max_tokens', 'max_completion_tokens']) edits.set(name, null);
  return editedText(body, edits);
}

/** The text to send for raw prompts; their limit is told, because not every server has the same one by itself. */
export function completionsText(
  request: JsonBody<CompletionsRequest>,
  stream: boolean,
  wording: Pick<RequestProfile, 'model' | 'report' | 'members'> & {
    traits: Pick<FlavorTraits, 'names' | 'openLimit'>;
  },
): string {
  const { traits, report: told, members } = wording;
  const { body, edits } = allowed(request, wording);
  const { value } = body;
  setStream(edits, value, stream, members);
  const limit = value.max_tokens ?? defaultMaxTokens;
  // Left out it would be 16 there; null is what the prompt leaves.
  const isOpen = traits.openLimit && limit >= (told.contextLength ?? Number.POSITIVE_INFINITY);
  edits.set('max_tokens', isOpen ? 'null' : JSON.stringify(limit));
  const names = Object.entries(traits.names).filter(([, theirs]) => !ofChatsAlone.has(theirs));
  setNames(edits, value, { names: Object.fromEntries(names) });
  return editedText(body, edits);
}

const isGiven = (value: unknown) => value !== undefined && value !== null;

function setStream(
  edits: Edits,
  value: { stream?: boolean | null; stream_options?: unknown },
  stream: boolean,
  members: Members,
): void {
  if (stream) {
    edits.set('stream', 'true');
    edits.set('stream_options', members.has('stream_options') ? '{"include_usage":true}' : null);
  } else {
    if (value.stream) edits.set('stream', 'false');
    if (value.stream_options !== undefined) edits.set('stream_options', null);
  }
}

/** What the server calls a member that has another name here. */
function setNames(
  edits: Edits,
  value: Record<string, unknown>,
  { names }: Pick<FlavorTraits, 'names'>,
): void {
  for (const [name, theirs] of Object.entries(names)) {
    const member = value[name];
    if (member === undefined) continue;
    edits.set(name, null);
    if (member !== null) edits.set(theirs, JSON.stringify(member));
  }
}

/** A message as the server knows such; itself where nothing differs. */
function adaptMessage(given: ChatMessage, traits: RequestProfile['traits']): ChatMessage {
  const { developerRole, signsCalls, callIds, thinkingParts } = traits;
  if (given.role === 'developer') return developerRole ? given : { ...given, role: 'system' };
  const message = thinkingParts ? withThinkingPart(given) : given;
  if (callIds) return withTakenIds(message, callIds);
  const [first, ...others] = message.tool_calls ?? [];
  if (!first || first.extra_content || signsCalls !== 'needed') return message;
  return { ...message, tool_calls: [{ ...first, extra_content: unsigned }, ...others] };
}

function hasMarks({ content }: ChatMessage): boolean {
  return Array.isArray(content) && content.some(({ cache_control: mark }) => (mark ?? null) !== null);
}

/** A message with one string where its text was in parts for the sake of marks alone: not every template takes parts. */
function asText(message: ChatMessage): ChatMessage {
  const parts = message.content as ContentPart[];
  const isApart = message.role === 'user' || message.role === 'tool';
  if ((isApart && parts.length > 1) || parts.some(({ type }) => type !== 'text')) return message;
  return { ...message, content: parts.map(({ text }) => text).join('') };
}

function asPrefix(message: ChatMessage): ChatMessage {
  const isText = message.role === 'assistant' && !message.tool_calls?.length;
  return isText ? Object.assign({ ...message }, { prefix: true }) : message;
}

/** A message whose reasoning is the first part of its content; itself where it has none. */
function withThinkingPart(message: ChatMessage): ChatMessage {
  if (message.reasoning === undefined && message.reasoning_content === undefined) return message;
  const { reasoning, reasoning_content: older, ...rest } = message;
  const text = reasoning || older;
  if (!text || rest.role !== 'assistant') return rest;
  const { content } = rest;
  const said = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text }] };
  return { ...rest, content: [thinking, ...said.filter((part) => part.text !== '')] };
}

/** A message whose calls and results have ids that the server takes, the same for the same; itself where it has such. */
function withTakenIds(message: ChatMessage, taken: RegExp): ChatMessage {
  const { tool_calls: calls, tool_call_id: answered } = message;
  if (typeof answered === 'string' && !taken.test(answered))
    return { ...message, tool_call_id: shortId(answered) };
  if (calls?.every(({ id }) => taken.test(id)) ?? true) return message;
  const told = calls!.map((call) => (taken.test(call.id) ? call : { ...call, id: shortId(call.id) }));
  return { ...message, tool_calls: told };
}

const shortId = (id: string) =>
  hash('sha256', id, 'base64')
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .slice(0, 9);

/**
 * Tools with free text as their client wrote them, and the choice of one.
 * @param known the request without what does not go on
 * @returns their names; undefined where there are none
 */
function setCustomTools(
  edits: Edits,
  { tools = [], tool_choice: choice }: ChatRequest,
  known: ChatRequest,
): ReadonlySet<string> | undefined {
  const customs = new Set(tools?.flatMap(({ custom }) => custom?.name ?? []));
  if (customs.size === 0) return undefined;
  const told = known.tools!.map((tool, at) => {
    const { custom } = tools![at]!;
    return custom ? { type: 'custom', custom } : tool;
  });
  edits.set('tools', pickMembers(JSON.stringify(told), told, toolMembers));
  if (typeof choice === 'object' && choice !== null && customs.has(choice.function.name))
    edits.set('tool_choice', JSON.stringify({ type: 'custom', custom: choice.function }));
  return customs;
}

/** A message whose calls of those tools are what they were; itself where it has none. */
function withCustomCalls(message: ChatMessage, customs: ReadonlySet<string> | undefined): object {
  const { tool_calls: calls } = message;
  if (!customs || !calls?.some((call) => customs.has(call.function.name))) return message;
  const told = calls.map((call) => {
    const { id, function: called } = call;
    if (!customs.has(called.name)) return call;
    return { id, type: 'custom', custom: { name: called.name, input: readFreeText(called.arguments) } };
  });
  return { ...message, tool_calls: told };
}

/** Documented for calls that another model made, or whose signature a client has lost. The first of a message has to have one. */
const unsigned = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** The text to send for embeddings; floats are asked for, since some servers ignore base64 and none refuses floats. */
export function embeddingsText(
  request: JsonBody<EmbeddingsRequest>,
  wording: Pick<RequestProfile, 'model' | 'members'>,
): string {
  const { body, edits } = allowed(request, wording);
  if (body.value.encoding_format !== undefined) edits.set('encoding_format', '"float"');
  return editedText(body, edits);
}

/**
 * The request under the server's name of the model and without what does not go on: top-level members become edits, which costs
 * nothing more; what stands deeper, which is rare, is taken out at once.
 */
function allowed<T extends Record<string, unknown>>(
  request: JsonBody<T>,
  { model, members }: Pick<RequestProfile, 'model' | 'members'>,
): { body: JsonBody<T>; edits: Edits } {
  const { value } = request;
  const named = JSON.stringify(model);
  const edits: Edits = new Map();
  for (const name in value) {
    const shape = members.get(name);
    if (shape === undefined) edits.set(name, null);
    else if (hasOtherMembers(value[name], shape)) {
      const text = pickMembers(request.text, value, members);
      return { body: { value: JSON.parse(text) as T, text }, edits: new Map([['model', named]]) };
    }
  }
  edits.set('model', named);
  return { body: request, edits };
}

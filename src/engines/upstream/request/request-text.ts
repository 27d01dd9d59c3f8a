import { fieldsOf } from '../../../base/fields.ts';
import type { ChatMessage, ChatRequest } from '../../../wire/chat/chat.ts';
import { type CompletionsRequest, defaultMaxTokens } from '../../../wire/completions/completions.ts';
import { editedText } from '../../../wire/json/edit-body.ts';
import type { Edits } from '../../../wire/json/edit-members.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import { hasOtherMembers, type Members, pickMembers } from '../../../wire/json/pick-members.ts';
import type { ProbeReport } from '../../engines.ts';
import type { EffortMapping, FlavorTraits, RequestMembers } from '../flavors/traits.ts';
import { moveSystems, type SystemPlace } from '../systems/move-system-messages.ts';
import { adaptMessage, type MessageOptions } from './chat-message.ts';
import { chatOnlyMembers, customToolMembers } from './request-members.ts';
import { sentSchemas } from './sent-schemas.ts';

/** Form of the requests that a server takes. */
export interface RequestProfile {
  /** The upstream's name of the model. */
  model: string;
  traits: MessageOptions['traits'] &
    Pick<FlavorTraits, 'names' | 'effort' | 'openLimit' | 'progress' | 'schemas' | 'rootUnions'>;
  /** True where tools with free text are sent unchanged. */
  customTools: boolean;
  report: ProbeReport;
  /** Members that are sent. */
  members: Members;
  /** Members that the operator lets through. */
  passThrough: readonly string[];
  /** Salt of the prefix cache. */
  salt?: string | undefined;
}

/** Text of a chat request: the client's bytes except for necessary edits. @param place of system messages */
export function chatText(
  request: JsonBody<ChatRequest>,
  stream: boolean,
  profile: RequestProfile,
  place: SystemPlace = 'anywhere',
): string {
  const { traits, report, members } = profile;
  const { body, edits } = permitted(request, profile);
  const { value } = body;
  setStream(edits, value, stream, members);
  if (stream && traits.progress) edits.set(traits.progress, 'true');
  const schemas = sentSchemas(value, traits);
  for (const [name, member] of Object.entries(schemas)) edits.set(name, JSON.stringify(member));
  const customTools = profile.customTools
    ? setCustomTools(edits, request.value, { ...value, ...schemas })
    : undefined;
  const options = { traits, shape: members.get('messages'), customTools };
  setMessages(edits, value.messages, request.value.messages, place, options);
  // Some servers reject an effort for a model that does not reason.
  const effort = report.thinking === false ? 'left out' : traits.effort;
  for (const [name, member] of Object.entries(effortMembers(value, effort)))
    edits.set(name, member === null ? null : JSON.stringify(member));
  // The newer of two limits wins, because some servers reject both.
  const hasBoth = isGiven(value.max_completion_tokens) && isGiven(value.max_tokens);
  if (hasBoth) edits.set('max_tokens', null);
  setNames(edits, hasBoth ? { ...value, max_tokens: null } : value, traits.names);
  const limit = value.max_completion_tokens ?? value.max_tokens ?? 0;
  if (traits.openLimit && limit >= (report.contextLength ?? Number.POSITIVE_INFINITY))
    for (const name of ['max_tokens', 'max_completion_tokens']) edits.set(name, null);
  return editedText(body, edits);
}

/** Text of a request for raw completions. The limit is always sent, because the defaults of servers differ. */
export function completionsText(
  request: JsonBody<CompletionsRequest>,
  stream: boolean,
  profile: Pick<RequestProfile, 'model' | 'report' | 'members' | 'salt'> & {
    traits: Pick<FlavorTraits, 'names' | 'openLimit'>;
  },
): string {
  const { traits, report, members } = profile;
  const { body, edits } = permitted(request, profile);
  const { value } = body;
  setStream(edits, value, stream, members);
  const limit = value.max_tokens ?? defaultMaxTokens;
  // Without a limit it would be 16 there; null allows what the prompt leaves.
  const isOpen = traits.openLimit && limit >= (report.contextLength ?? Number.POSITIVE_INFINITY);
  edits.set('max_tokens', isOpen ? 'null' : JSON.stringify(limit));
  const names = Object.entries(traits.names).filter(([, theirs]) => !chatOnlyMembers.has(theirs));
  setNames(edits, value, Object.fromEntries(names));
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

function setMessages(
  edits: Edits,
  messages: readonly ChatMessage[],
  originals: readonly ChatMessage[],
  place: SystemPlace,
  options: MessageOptions,
): void {
  const adapted = messages.map((message, at) =>
    adaptMessage(message, originals[at]!, at === messages.length - 1, options),
  );
  const isAdapted = adapted.some((message, at) => message !== messages[at]);
  if (place === 'anywhere' && !isAdapted) return;
  const text = JSON.stringify(adapted);
  const moved = place === 'anywhere' ? text : JSON.stringify(moveSystems(adapted, place));
  if (isAdapted || moved !== text) edits.set('messages', moved);
}

/** Both names that templates use. */
const noThinking = { enable_thinking: false, thinking: false };

/** Members that carry the reasoning effort. Those that the client set itself stay as they are. */
function effortMembers(request: ChatRequest, mapping: EffortMapping): RequestMembers {
  const { reasoning_effort: effort, chat_template_kwargs: given } = request;
  if (!effort || mapping === 'as given') return {};
  if (mapping === 'left out') return { reasoning_effort: null };
  if (typeof mapping === 'object') {
    const theirs = Object.hasOwn(mapping, effort) ? mapping[effort]! : {};
    if (typeof theirs === 'string') return { reasoning_effort: theirs };
    const isOpen = ([name]: [string, unknown]) =>
      name === 'reasoning_effort' || (request[name] ?? null) === null;
    return Object.fromEntries(Object.entries(theirs).filter(isOpen));
  }
  const variables = (more: object) => ({ chat_template_kwargs: { ...more, ...fieldsOf(given) } });
  if (effort === 'none') return { reasoning_effort: null, ...variables(noThinking) };
  return mapping === 'template' ? variables({ reasoning_effort: effort }) : {};
}

/** Renames members to the server's names. */
function setNames(edits: Edits, value: Record<string, unknown>, names: FlavorTraits['names']): void {
  for (const [name, theirs] of Object.entries(names)) {
    const member = value[name];
    if (member === undefined) continue;
    edits.set(name, null);
    if (member !== null) edits.set(theirs, JSON.stringify(member));
  }
}

/** Sets tools with free text, and the choice of one, as the client wrote them, among those `sent`. @returns their names */
function setCustomTools(
  edits: Edits,
  { tools = [], tool_choice: choice }: ChatRequest,
  sent: ChatRequest,
): ReadonlySet<string> | undefined {
  const names = new Set(tools?.flatMap(({ custom }) => custom?.name ?? []));
  if (names.size === 0) return undefined;
  const restored = sent.tools!.map((tool, at) => {
    const { custom } = tools![at]!;
    return custom ? { type: 'custom', custom } : tool;
  });
  edits.set('tools', pickMembers(JSON.stringify(restored), restored, customToolMembers));
  if (typeof choice === 'object' && choice !== null && names.has(choice.function.name))
    edits.set('tool_choice', JSON.stringify({ type: 'custom', custom: choice.function }));
  return names;
}

/** Text of a direct request. @param edit sets more members */
export function directText<T extends Record<string, unknown>>(
  request: JsonBody<T>,
  profile: Pick<RequestProfile, 'model' | 'members' | 'salt'>,
  edit?: (value: T, edits: Edits) => void,
): string {
  const { body, edits } = permitted(request, profile);
  edit?.(request.value, edits);
  return editedText(body, edits);
}

/** Sets the server's model name and the salt, and removes members that are not sent: top-level ones by edits, rarer nested ones together. */
function permitted<T extends Record<string, unknown>>(
  request: JsonBody<T>,
  { model, members, salt }: Pick<RequestProfile, 'model' | 'members' | 'salt'>,
): { body: JsonBody<T>; edits: Edits } {
  const { value } = request;
  const always = [['model', JSON.stringify(model)], ...saltMembers(salt)] as const;
  const edits: Edits = new Map();
  for (const name in value) {
    const shape = members.get(name);
    if (shape === undefined) edits.set(name, null);
    else if (hasOtherMembers(value[name], shape)) {
      const text = pickMembers(request.text, value, members);
      return { body: { value: JSON.parse(text) as T, text }, edits: new Map(always) };
    }
  }
  for (const [name, text] of always) edits.set(name, text);
  return { body: request, edits };
}

/** Member with the salt, which replaces one of the client. */
export function saltMembers(salt: string | undefined): [name: string, text: string][] {
  return salt === undefined ? [] : [['cache_salt', JSON.stringify(salt)]];
}

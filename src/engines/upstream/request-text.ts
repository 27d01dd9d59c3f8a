import type { ChatMessage, ChatRequest } from '../../wire/chat/chat.ts';
import type { EmbeddingsRequest } from '../../wire/embeddings/embeddings.ts';
import { editMembers } from '../../wire/json/edit-members.ts';
import type { Edits } from '../../wire/json/edit-members.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import { hasOtherMembers, pickMembers } from '../../wire/json/pick-members.ts';
import type { Members } from '../../wire/json/pick-members.ts';
import type { Report } from '../engines.ts';
import type { FlavorTraits } from './flavors.ts';
import { effortMembers } from './reasoning-effort.ts';

/** What a server is told, and in which words. */
export interface Wording {
  /** The upstream's name of the model. */
  model: string;
  traits: Pick<FlavorTraits, 'names' | 'developerRole' | 'signsCalls' | 'effort' | 'openLimit' | 'progress'>;
  /** What the server told of its model. */
  told: Report;
  /** What goes on at all. */
  members: Members;
  /** Members of the request that its operator lets through. */
  passThrough: readonly string[];
}

/** The text to send for a chat request: the client's bytes, but for what must differ. */
export function chatText(request: JsonBody<ChatRequest>, stream: boolean, wording: Wording): string {
  const { model, traits, told, members } = wording;
  const { value, text, scan, edits } = allowed(request, members);
  edits.set('model', JSON.stringify(model));
  if (stream) {
    edits.set('stream', 'true');
    edits.set('stream_options', members.has('stream_options') ? '{"include_usage":true}' : null);
    if (traits.progress) edits.set(traits.progress.value, 'true');
  } else {
    if (value.stream) edits.set('stream', 'false');
    if (value.stream_options !== undefined) edits.set('stream_options', null);
  }
  if (value.messages.some((message) => worded(message, traits) !== message))
    edits.set('messages', JSON.stringify(value.messages.map((message) => worded(message, traits))));
  // A model that does not think is not told how hard: some servers refuse that.
  const effort = told.thinking === false ? 'left out' : traits.effort.value;
  for (const [name, member] of Object.entries(effortMembers(value, effort)))
    edits.set(name, member === null ? null : JSON.stringify(member));
  for (const [name, theirs] of Object.entries(traits.names.value)) {
    const member = value[name];
    if (member === undefined) continue;
    edits.set(name, null);
    if (member !== null) edits.set(theirs, JSON.stringify(member));
  }
  const limit = value.max_completion_tokens ?? value.max_tokens ?? 0;
  if (traits.openLimit && limit >= (told.contextLength ?? Number.POSITIVE_INFINITY))
    for (const name of ['max_tokens', 'max_completion_tokens']) edits.set(name, null);
  return editMembers(text, edits, scan);
}

/** A message as the server knows such; itself where nothing differs. */
function worded(message: ChatMessage, { developerRole, signsCalls }: Wording['traits']): ChatMessage {
  if (message.role === 'developer') return developerRole.value ? message : { ...message, role: 'system' };
  const [first, ...others] = message.tool_calls ?? [];
  if (!first || first.extra_content || signsCalls?.value !== 'needed') return message;
  return { ...message, tool_calls: [{ ...first, extra_content: unsigned }, ...others] };
}

/** Documented for calls that another model made, or whose signature a client has lost. The first of a message has to have one. */
const unsigned = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** The text to send for embeddings; floats are asked for, since some servers ignore base64 and none refuses floats. */
export function embeddingsText(
  request: JsonBody<EmbeddingsRequest>,
  { model, members }: Pick<Wording, 'model' | 'members'>,
): string {
  const { value, text, edits } = allowed(request, members);
  edits.set('model', JSON.stringify(model));
  if (value.encoding_format !== undefined) edits.set('encoding_format', '"float"');
  return editMembers(text, edits);
}

/**
 * The request without what does not go on: top-level members become edits, which costs nothing more; what stands deeper,
 * which is rare, is taken out at once.
 */
function allowed<T extends Record<string, unknown>>(
  request: JsonBody<T>,
  members: Members,
): JsonBody<T> & { edits: Edits } {
  const { value, text } = request;
  const edits: Edits = new Map();
  for (const name in value) {
    const shape = members.get(name);
    if (shape === undefined) edits.set(name, null);
    else if (hasOtherMembers(value[name], shape)) {
      const picked = pickMembers(text, value, members);
      return { value: JSON.parse(picked) as T, text: picked, edits: new Map() };
    }
  }
  return { ...request, edits };
}

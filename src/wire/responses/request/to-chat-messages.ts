import type { ChatMessage, ContentPart, ToolCall } from '../../chat/chat.ts';
import { dropStaleThoughts } from '../../chat/request/stale-thoughts.ts';
import { summaryMessage } from '../../chat/summary-message.ts';
import { readSummary } from '../compaction.ts';
import type { InputPart, StoredItem } from '../responses.ts';

/** Item with its path in the request: `input[3]`, or `previous_response_id` for earlier items. */
export interface PlacedItem {
  item: StoredItem;
  path: string;
}

/** Message with the path of its item. */
export interface PlacedMessage {
  message: ChatMessage;
  path: string;
}

/**
 * Converts items to chat messages. An assistant turn (reasoning, text, calls) becomes one message. Tool results follow it one
 * by one; their parts other than text come after them as a user message, because tool messages can hold only text. Other
 * messages between a call and its result move behind the result, because servers reject a call that is not directly followed
 * by it.
 */
export function toChatMessages(items: readonly PlacedItem[]): PlacedMessage[] {
  const messages: PlacedMessage[] = [];
  let turn: AssistantTurn | undefined;
  let attachments: { parts: ContentPart[]; path: string } | undefined;
  let deferred: PlacedMessage[] = [];
  const open = openCalls(items);
  const shownByTools = new Set<ChatMessage>();

  const endTurn = () => {
    if (turn) messages.push(turn.placed());
    turn = undefined;
  };
  const endResults = () => {
    if (attachments) {
      const message: ChatMessage = { role: 'user', content: attachments.parts };
      shownByTools.add(message);
      messages.push({ message, path: attachments.path });
    }
    attachments = undefined;
    messages.push(...deferred);
    deferred = [];
  };

  for (const { item, path } of items) {
    open.pass(item);
    if (item.type === 'function_call_output') {
      endTurn();
      const { text, rest } = splitResult(item.output ?? '');
      messages.push({ message: { role: 'tool', tool_call_id: item.call_id!, content: text }, path });
      if (rest.length > 0) attachments = { parts: [...(attachments?.parts ?? []), ...rest], path };
      continue;
    }
    if (item.type === 'message' && item.role !== 'assistant') {
      const role = item.role as ChatMessage['role'];
      deferred.push({ message: { role, content: contentOf(item.content) }, path });
      if (open.hasAny()) continue;
      endTurn();
      endResults();
      continue;
    }
    const summary = readSummary(item);
    if (summary !== undefined) {
      endTurn();
      endResults();
      messages.push({ message: summaryMessage(summary), path });
      continue;
    }
    if (!assistantTypes.has(item.type)) continue;
    if (!turn) endResults();
    if (item.type !== 'function_call' && turn?.isAnswered) endTurn();
    turn ??= new AssistantTurn(path);
    turn.add(item);
  }
  endTurn();
  endResults();
  dropStaleThoughts(
    messages.map(({ message }) => message),
    shownByTools,
  );
  return messages;
}

/** Tracks calls whose results come later. */
function openCalls(items: readonly PlacedItem[]) {
  const results = new Map<string, number>();
  const open = new Set<string>();
  const add = (id: string, count: number) => results.set(id, (results.get(id) ?? 0) + count);
  for (const { item } of items) if (item.type === 'function_call_output') add(item.call_id!, 1);
  return {
    hasAny: () => open.size > 0,
    pass({ type, call_id: id = '' }: StoredItem): void {
      if (type === 'function_call' && (results.get(id) ?? 0) > 0) open.add(id);
      if (type !== 'function_call_output') return;
      add(id, -1);
      open.delete(id);
    },
  };
}

const assistantTypes = new Set(['message', 'function_call', 'reasoning']);

/** Items of the assistant up to the next answer. */
class AssistantTurn {
  readonly #path: string;
  #content: (string | ContentPart[])[] = [];
  #refusal = '';
  #reasoning: string[] = [];
  #calls: ToolCall[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** True after text without calls: anything but a call then begins another turn. */
  get isAnswered(): boolean {
    return this.#content.length > 0 && this.#calls.length === 0;
  }

  add(item: StoredItem): void {
    if (item.type === 'function_call')
      this.#calls.push({
        id: item.call_id!,
        type: 'function',
        function: { name: item.name!, arguments: item.arguments! },
      });
    else if (item.type === 'reasoning') this.#reasoning.push(reasoningOf(item));
    else this.#addContent(item);
  }

  #addContent({ content }: StoredItem): void {
    const parts = Array.isArray(content) ? content : [];
    this.#refusal += parts.map((part) => (part.type === 'refusal' ? part.refusal : '')).join('');
    const rest = contentOf(parts.filter((part) => part.type !== 'refusal'));
    if (rest !== '' || this.#refusal === '') this.#content.push(rest);
  }

  placed(): PlacedMessage {
    const reasoning = this.#reasoning.filter(Boolean).join('\n');
    const message: ChatMessage = {
      role: 'assistant',
      content: joined(this.#content),
      ...(this.#refusal !== '' && { refusal: this.#refusal }),
      ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
      ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
    };
    // A truncated answer may consist of reasoning alone.
    const isEmpty = message.content === null && this.#refusal === '' && this.#calls.length === 0;
    return { message: isEmpty ? { ...message, content: '' } : message, path: this.#path };
  }
}

function joined(contents: (string | ContentPart[])[]): ChatMessage['content'] {
  if (contents.length === 0) return null;
  if (contents.every((content) => typeof content === 'string')) return contents.join('');
  return contents.flatMap((content) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  );
}

/** Text of a reasoning item: the content of other servers, or our summary. */
function reasoningOf({ summary, content }: StoredItem): string {
  const whole = Array.isArray(content) ? content : [];
  return (whole.length > 0 ? whole : (summary ?? [])).map(({ text }) => text ?? '').join('\n');
}

/** Text parts are joined to a string, the form that every server accepts. */
function contentOf(content: string | readonly InputPart[] | null | undefined): string | ContentPart[] {
  if (typeof content === 'string') return content;
  const parts = (content ?? []).map(toChatPart);
  return parts.every((part) => part.type === 'text') ? parts.map((part) => part.text).join('') : parts;
}

function toChatPart(part: InputPart): ContentPart {
  const { type, detail, filename, image_url: url, file_data, input_audio } = part;
  if (type === 'input_image') return { type: 'image_url', image_url: { url, ...(detail && { detail }) } };
  if (type === 'input_file') return { type: 'file', file: { file_data, ...(filename && { filename }) } };
  if (type === 'input_audio') return { type, input_audio };
  return type === 'refusal' ? { type, refusal: part.refusal ?? '' } : { type: 'text', text: part.text ?? '' };
}

function splitResult(output: string | InputPart[]): { text: string; rest: ContentPart[] } {
  if (typeof output === 'string') return { text: output, rest: [] };
  const parts = output.map(toChatPart);
  return {
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    rest: parts.filter((part) => part.type !== 'text'),
  };
}

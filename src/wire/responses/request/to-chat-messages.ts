import type { ChatMessage, ContentPart, ToolCall } from '../../chat/chat.ts';
import { dropStaleThoughts } from '../../chat/request/stale-thoughts.ts';
import { summaryMessage } from '../../chat/summary-message.ts';
import { readSummary } from '../compaction.ts';
import type { InputPart, StoredItem } from '../responses.ts';

/** An item, and where the request has it: `input[3]`, or `previous_response_id` for what came before. */
export interface PlacedItem {
  item: StoredItem;
  path: string;
}

/** A message, and the place of the item it was made of. */
export interface PlacedMessage {
  message: ChatMessage;
  path: string;
}

/**
 * Items as the messages of a chat. What the assistant did in one turn (reasoning, text, calls) becomes one message; results
 * of tools follow it one by one, and what they hold beside text comes after them as a message of the user, because a tool
 * message takes text alone. Messages of others between a call and its result move behind the result: servers refuse a call
 * that its result does not follow. Items of types that are no conversation are passed over.
 */
export function toChatMessages(items: readonly PlacedItem[]): PlacedMessage[] {
  const messages: PlacedMessage[] = [];
  let turn: AssistantTurn | undefined;
  let attachments: { parts: ContentPart[]; path: string } | undefined;
  let held: PlacedMessage[] = [];
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
    messages.push(...held);
    held = [];
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
      held.push({ message: { role, content: contentOf(item.content) }, path });
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
    if (!isAssistants(item)) continue;
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

/** Calls whose results come later in the items. */
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

function isAssistants({ type }: StoredItem): boolean {
  return type === 'message' || type === 'function_call' || type === 'reasoning';
}

/** What the assistant says and does until somebody answers. */
class AssistantTurn {
  readonly #path: string;
  #content: (string | ContentPart[])[] = [];
  #refusal = '';
  #reasoning: string[] = [];
  #calls: ToolCall[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** It has its text and calls nothing: what is not a call begins another turn. */
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
    else this.#say(item);
  }

  #say({ content }: StoredItem): void {
    const parts = Array.isArray(content) ? content : [];
    this.#refusal += parts.map((part) => (part.type === 'refusal' ? part.refusal : '')).join('');
    const said = contentOf(parts.filter((part) => part.type !== 'refusal'));
    if (said !== '' || this.#refusal === '') this.#content.push(said);
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
    // Reasoning alone, left by an answer that was cut: there is nothing to show it with.
    const isSilent = message.content === null && this.#refusal === '' && this.#calls.length === 0;
    return { message: isSilent ? { ...message, content: '' } : message, path: this.#path };
  }
}

function joined(contents: (string | ContentPart[])[]): ChatMessage['content'] {
  if (contents.length === 0) return null;
  if (contents.every((content) => typeof content === 'string')) return contents.join('');
  return contents.flatMap((content) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  );
}

/** The text of a reasoning item; the summary, where we put it, or the content of other servers. */
function reasoningOf({ summary, content }: StoredItem): string {
  const whole = Array.isArray(content) ? content : [];
  const texts = (whole.length > 0 ? whole : (summary ?? [])).map(({ text }) => text ?? '');
  return texts.join('\n');
}

/** Text alone becomes a string, joined without anything between: every server takes that. */
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

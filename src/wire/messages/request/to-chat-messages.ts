import type { ChatMessage, ContentPart, ToolCall } from '../../chat/chat.ts';
import { summaryMessage } from '../../chat/summary-message.ts';
import { dropStaleThoughts } from '../../chat/request/stale-thoughts.ts';
import type { PathMap } from '../../shared/path-map.ts';
import type { Block, BlockSource, MessagesRequest, MessagesTurn } from '../messages.ts';
import { thinkingText } from '../signature.ts';
import { isServerCall, isServerResult, lastSummary, serverCallName, textIn } from './other-blocks.ts';

/**
 * Converts the conversation. System text before the first turn becomes one leading message, because many chat templates allow
 * only one; later system messages stay in place. Tool results become messages of their own, before the rest of their turn.
 */
export function toChatMessages({ system, messages: turns }: MessagesRequest, paths: PathMap): ChatMessage[] {
  const messages: ChatMessage[] = [];
  const add: AddMessage = (message, path) => {
    paths.set(message, path);
    messages.push(message);
  };
  const leading = turns.findIndex(({ role }) => role !== 'system');
  const opening = leading < 0 ? turns : turns.slice(0, leading);
  const blocks = [...blocksOf({ content: system ?? '' }), ...opening.flatMap(blocksOf)].filter(hasText);
  if (blocks.length > 0) {
    const path = system === undefined || system === null ? 'messages[0]' : 'system';
    add({ role: 'system', content: paragraphs(blocks) }, path);
    if (path === 'system') paths.set('messages[0].content', 'system');
  }
  const shownByTools = new Set<ChatMessage>();
  const last = lastSummary(turns);
  if (last) add(summaryMessage(last.summary), `messages[${last.turn}].content[${last.block}]`);
  for (let at = Math.max(opening.length, last?.turn ?? 0); at < turns.length; at++) {
    const turn = at === last?.turn ? after(last.block, turns[at]!) : turns[at]!;
    const path = `messages[${at}]`;
    if (turn.role === 'user') addUserTurn(blocksOf(turn), path, { add, paths, shownByTools });
    else if (turn.role === 'assistant') addAssistantTurn(blocksOf(turn), path, add);
    else {
      const later = blocksOf(turn).filter(hasText);
      if (later.length > 0) add({ role: 'system', content: paragraphs(later) }, path);
    }
  }
  dropStaleThoughts(messages, shownByTools);
  // An answer that was cut during its reasoning is dropped.
  const isEmpty = ({ role, content, reasoning_content: thoughts }: ChatMessage) =>
    role === 'assistant' && content === '' && !thoughts;
  return messages.filter((message) => !isEmpty(message));
}

const hasText = ({ text = '' }: Block): boolean => text !== '';

/** Empties the blocks that a summary in the turn replaces, so that the others keep their indexes. */
function after(block: number, { role, content }: MessagesTurn): MessagesTurn {
  const empty: Block = { type: 'text', text: '' };
  return { role, content: (content as Block[]).map((each, index) => (index > block ? each : empty)) };
}

function blocksOf({ content }: Pick<MessagesTurn, 'content'>): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

type AddMessage = (message: ChatMessage, path: string) => void;

function addUserTurn(
  blocks: Block[],
  path: string,
  { add, paths, shownByTools }: { add: AddMessage; paths: PathMap; shownByTools: Set<ChatMessage> },
): void {
  const rest: ContentPart[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type !== 'tool_result') continue;
    const at = `${path}.content[${index}]`;
    const { texts, others } = resultParts(block, at, paths);
    const last = texts.at(-1);
    if (last) Object.assign(last, cacheControlOf(block));
    add({ role: 'tool', tool_call_id: block.tool_use_id!, content: contentOf(texts) }, at);
    // A tool message can hold only text, so other parts follow as a user message.
    rest.push(...others);
  }
  for (const [index, block] of blocks.entries())
    rest.push(...toChatParts(block, `${path}.content[${index}]`, paths));
  const hasResults = blocks.some(({ type }) => type === 'tool_result');
  if (rest.length === 0 && hasResults) return;
  const message: ChatMessage = { role: 'user', content: contentOf(rest) };
  if (hasResults) shownByTools.add(message);
  add(message, path);
}

function resultParts(
  { content, is_error: isError }: Block,
  path: string,
  paths: PathMap,
): { texts: ContentPart[]; others: ContentPart[] } {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const parts = blocks.flatMap((block, index) => toChatParts(block, `${path}.content[${index}]`, paths));
  const tools = blocks.flatMap(({ type, tool_name: name }) =>
    type === 'tool_reference' ? (name ?? []) : [],
  );
  if (tools.length > 0) parts.push(...textPart(`Callable from now on: ${tools.join(', ')}`));
  const texts = parts.filter(({ type }) => type === 'text');
  if (isError === true) {
    const [first, ...others] = texts;
    const text = first?.text === undefined ? 'Error' : `Error: ${first.text}`;
    texts.splice(0, texts.length, { type: 'text', text }, ...others);
  }
  return { texts, others: parts.filter(({ type }) => type !== 'text') };
}

/** A single text becomes a string, the form that every engine accepts. */
function contentOf(parts: ContentPart[]): string | ContentPart[] {
  if (parts.length === 0) return '';
  const [first] = parts;
  return parts.length === 1 && first!.type === 'text' && !hasCacheControl(first!) ? first!.text! : parts;
}

/** Adds an assistant turn. Results of calls that the server ran follow their call directly. */
function addAssistantTurn(blocks: Block[], path: string, add: AddMessage): void {
  const results = new Map(
    blocks.filter(isServerResult).map((block) => [block.tool_use_id, textIn(block.content)]),
  );
  let pending: Block[] = [];
  const added = new Set<string>();
  for (const block of blocks) {
    const result = isServerResult(block) ? results.get(block.tool_use_id) : undefined;
    if (!result) {
      if (!isServerCall(block) || results.get(block.id)) pending.push(block);
      continue;
    }
    // Calls of client tools are added later, next to their results in the following turn.
    const calls = pending.filter(({ type }) => type === 'tool_use');
    const others = pending.filter(({ type }) => type !== 'tool_use');
    if (others.length > 0) addAssistant(others, path, add);
    for (const { id } of others.filter(isServerCall)) added.add(id!);
    pending = calls;
    if (added.has(block.tool_use_id!))
      add({ role: 'tool', tool_call_id: block.tool_use_id!, content: result }, path);
  }
  addAssistant(pending, path, add);
}

function addAssistant(blocks: readonly Block[], path: string, add: AddMessage): void {
  const texts = blocks.filter((block) => block.type === 'text' && hasText(block));
  const text = texts.map((block) => block.text!).join('');
  const parts = texts.map((block) => ({ type: 'text', text: block.text!, ...cacheControlOf(block) }));
  const content = parts.some(hasCacheControl) ? parts : text;
  const calls = blocks.filter((block) => block.type === 'tool_use' || isServerCall(block)).map(toToolCall);
  const thoughts = blocks.filter(({ type }) => type === 'thinking').map(thinkingText);
  const reasoning = thoughts.filter((thought) => thought !== '').join('\n\n');
  if (text === '' && calls.length === 0 && reasoning === '') return;
  add(
    {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : content,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(reasoning !== '' && { reasoning_content: reasoning }),
    },
    path,
  );
}

function toToolCall(block: Block): ToolCall {
  const { id, name, input } = block;
  const called = isServerCall(block) ? serverCallName(block) : name!;
  const json = JSON.stringify(input ?? {});
  return { id: id!, type: 'function', function: { name: called, arguments: json }, ...cacheControlOf(block) };
}

/** Converts a block to parts of a chat message; none for an empty text or an ignored block. */
function toChatParts(block: Block, path: string, paths: PathMap): ContentPart[] {
  const read = readers[block.type] ?? (isServerResult(block) ? readers['browser_state'] : undefined);
  const parts = read?.(block) ?? [];
  const last = parts.at(-1);
  if (last) Object.assign(last, cacheControlOf(block));
  for (const part of parts) paths.set(part, path);
  return parts;
}

const readers: Record<string, (block: Block) => ContentPart[]> = {
  browser_state: (block) => textPart(textIn(block)),
  text: ({ text }) => textPart(text ?? ''),
  image: ({ source }) => [{ type: 'image_url', image_url: { url: imageUrl(source as BlockSource) } }],
  search_result: ({ title, source, content }) =>
    textPart([title, source as string, plain(content ?? [])].filter(Boolean).join('\n')),
  document({ title, context, source }) {
    const { data, content } = source as BlockSource;
    return textPart([title, context, data ?? plain(content ?? [])].filter(Boolean).join('\n'));
  },
};

function textPart(text: string): ContentPart[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

function plain(content: string | Block[]): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text ?? '').join('\n');
}

function imageUrl({ type, media_type: mediaType, data, url }: BlockSource): string {
  return type === 'url' ? url! : `data:${mediaType};base64,${data}`;
}

type Cacheable = Pick<Block, 'cache_control'>;

function hasCacheControl({ cache_control: control }: Cacheable): boolean {
  return (control ?? undefined) !== undefined;
}

function cacheControlOf(block: Cacheable): Pick<ContentPart, 'cache_control'> {
  return hasCacheControl(block) ? { cache_control: block.cache_control! } : {};
}

/** Texts separated by empty lines: one string, or parts if one of them has a cache control. */
function paragraphs(blocks: readonly Block[]): string | ContentPart[] {
  const parts = blocks.map(({ text = '', ...block }, at) => {
    const end = at === blocks.length - 1 ? '' : '\n\n';
    return { type: 'text', text: text + end, ...cacheControlOf(block) };
  });
  return parts.some(hasCacheControl) ? parts : parts.map(({ text }) => text).join('');
}

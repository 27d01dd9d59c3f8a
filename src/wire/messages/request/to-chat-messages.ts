import type { ChatMessage, ContentPart, ToolCall } from '../../chat/chat.ts';
import { summaryMessage } from '../../chat/summary-message.ts';
import { dropStaleThoughts } from '../../chat/request/stale-thoughts.ts';
import type { PathMap } from '../../shared/path-map.ts';
import type { Block, MessagesRequest, BlockSource, MessagesTurn } from '../messages.ts';
import { thinkingText } from '../signature.ts';
import { hasCacheControl, cacheControlOf, paragraphs } from './cache-marks.ts';
import { isServerCall, isServerResult, lastSummary, serverCallName, textIn } from './other-blocks.ts';

/**
 * The conversation as chat has it. What the system says before the first turn becomes one leading message, because many
 * templates take no more; later it stays where it is. Results of tools become messages of their own, before the rest of
 * their turn.
 */
export function toChatMessages({ system, messages: turns }: MessagesRequest, paths: PathMap): ChatMessage[] {
  const messages: ChatMessage[] = [];
  const add = (message: ChatMessage, place: string) => {
    paths.set(message, place);
    messages.push(message);
  };
  const leading = turns.findIndex(({ role }) => role !== 'system');
  const opening = leading < 0 ? turns : turns.slice(0, leading);
  const said = [...blocksOf({ content: system ?? '' }), ...opening.flatMap(blocksOf)].filter(hasText);
  if (said.length > 0) {
    const place = system === undefined || system === null ? 'messages[0]' : 'system';
    add({ role: 'system', content: paragraphs(said) }, place);
    if (place === 'system') paths.set('messages[0].content', 'system');
  }
  const shownByTools = new Set<ChatMessage>();
  const summed = lastSummary(turns);
  if (summed) add(summaryMessage(summed.summary), `messages[${summed.turn}].content[${summed.block}]`);
  for (let at = Math.max(opening.length, summed?.turn ?? 0); at < turns.length; at++) {
    const turn = at === summed?.turn ? after(summed.block, turns[at]!) : turns[at]!;
    const place = `messages[${at}]`;
    if (turn.role === 'user') addUserTurn(blocksOf(turn), place, { add, paths, shownByTools });
    else if (turn.role === 'assistant') addAssistantTurn(blocksOf(turn), place, add);
    else {
      const later = blocksOf(turn).filter(hasText);
      if (later.length > 0) add({ role: 'system', content: paragraphs(later) }, place);
    }
  }
  dropStaleThoughts(messages, shownByTools);
  // An answer that was cut while it thought.
  const isSilent = ({ role, content, reasoning_content: thoughts }: ChatMessage) =>
    role === 'assistant' && content === '' && !thoughts;
  return messages.filter((message) => !isSilent(message));
}

const hasText = ({ text = '' }: Block): boolean => text !== '';

/** A turn without the blocks that a summary in it replaces; the others keep their paths. */
function after(block: number, { role, content }: MessagesTurn): MessagesTurn {
  const silent: Block = { type: 'text', text: '' };
  return { role, content: (content as Block[]).map((each, index) => (index > block ? each : silent)) };
}

function blocksOf({ content }: Pick<MessagesTurn, 'content'>): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

type AddMessage = (message: ChatMessage, place: string) => void;

function addUserTurn(
  blocks: Block[],
  place: string,
  { add, paths, shownByTools }: { add: AddMessage; paths: PathMap; shownByTools: Set<ChatMessage> },
): void {
  const rest: ContentPart[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type !== 'tool_result') continue;
    const at = `${place}.content[${index}]`;
    const { texts, others } = resultParts(block, at, paths);
    const last = texts.at(-1);
    if (last) Object.assign(last, cacheControlOf(block));
    add({ role: 'tool', tool_call_id: block.tool_use_id!, content: contentOf(texts) }, at);
    // A tool's message holds text only: what it shows follows as if the user showed it.
    rest.push(...others);
  }
  for (const [index, block] of blocks.entries())
    rest.push(...toChatParts(block, `${place}.content[${index}]`, paths));
  const hasResults = blocks.some(({ type }) => type === 'tool_result');
  if (rest.length === 0 && hasResults) return;
  const message: ChatMessage = { role: 'user', content: contentOf(rest) };
  if (hasResults) shownByTools.add(message);
  add(message, place);
}

function resultParts(
  { content, is_error: isError }: Block,
  place: string,
  paths: PathMap,
): { texts: ContentPart[]; others: ContentPart[] } {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const parts = blocks.flatMap((block, index) => toChatParts(block, `${place}.content[${index}]`, paths));
  const found = blocks.flatMap(({ type, tool_name: name }) =>
    type === 'tool_reference' ? (name ?? []) : [],
  );
  if (found.length > 0) parts.push(...textPart(`Callable from now on: ${found.join(', ')}`));
  const texts = parts.filter(({ type }) => type === 'text');
  if (isError === true) {
    const [first, ...others] = texts;
    const text = first?.text === undefined ? 'Error' : `Error: ${first.text}`;
    texts.splice(0, texts.length, { type: 'text', text }, ...others);
  }
  return { texts, others: parts.filter(({ type }) => type !== 'text') };
}

/** One text as a string: the one form that every engine reads. */
function contentOf(parts: ContentPart[]): string | ContentPart[] {
  if (parts.length === 0) return '';
  const [first] = parts;
  return parts.length === 1 && first!.type === 'text' && !hasCacheControl(first!) ? first!.text! : parts;
}

/** Adds a turn of the assistant. The result of a call that its server ran follows the call directly. */
function addAssistantTurn(blocks: Block[], place: string, add: AddMessage): void {
  const results = new Map(
    blocks.filter(isServerResult).map((block) => [block.tool_use_id, textIn(block.content)]),
  );
  let said: Block[] = [];
  const told = new Set<string>();
  for (const block of blocks) {
    const result = isServerResult(block) ? results.get(block.tool_use_id) : undefined;
    if (!result) {
      if (!isServerCall(block) || results.get(block.id)) said.push(block);
      continue;
    }
    // Calls of the client's tools stay with their results, which come with the next turn.
    const calls = said.filter(({ type }) => type === 'tool_use');
    if (said.length > calls.length)
      addAssistant(
        said.filter((each) => !calls.includes(each)),
        place,
        add,
      );
    for (const { id } of said.filter(isServerCall)) told.add(id!);
    said = calls;
    if (told.has(block.tool_use_id!))
      add({ role: 'tool', tool_call_id: block.tool_use_id!, content: result }, place);
  }
  addAssistant(said, place, add);
}

function addAssistant(blocks: readonly Block[], place: string, add: AddMessage): void {
  const texts = blocks.filter((block) => block.type === 'text' && hasText(block));
  const text = texts.map((block) => block.text!).join('');
  const parts = texts.map((block) => ({ type: 'text', text: block.text!, ...cacheControlOf(block) }));
  const said = parts.some(hasCacheControl) ? parts : text;
  const calls = blocks.filter((block) => block.type === 'tool_use' || isServerCall(block)).map(toToolCall);
  const thoughts = blocks.filter(({ type }) => type === 'thinking').map(thinkingText);
  const reasoning = thoughts.filter((thought) => thought !== '').join('\n\n');
  if (text === '' && calls.length === 0 && reasoning === '') return;
  add(
    {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : said,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(reasoning !== '' && { reasoning_content: reasoning }),
    },
    place,
  );
}

function toToolCall(block: Block): ToolCall {
  const { id, name, input } = block;
  const called = isServerCall(block) ? serverCallName(block) : name!;
  const json = JSON.stringify(input ?? {});
  return { id: id!, type: 'function', function: { name: called, arguments: json }, ...cacheControlOf(block) };
}

/** What a block says as parts of a chat message; nothing for an empty text or a block that is passed over. */
function toChatParts(block: Block, place: string, paths: PathMap): ContentPart[] {
  const read = readers[block.type] ?? (isServerResult(block) ? readers['browser_state'] : undefined);
  const parts = read?.(block) ?? [];
  const last = parts.at(-1);
  if (last) Object.assign(last, cacheControlOf(block));
  for (const part of parts) paths.set(part, place);
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

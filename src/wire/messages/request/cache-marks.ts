import type { ContentPart } from '../../chat/chat.ts';
import type { Block } from '../messages.ts';

type Cacheable = Pick<Block, 'cache_control'>;

export function hasCacheControl({ cache_control: mark }: Cacheable): boolean {
  return (mark ?? undefined) !== undefined;
}

/** The mark of a block for the part of a chat that is made of it. */
export function cacheControlOf(block: Cacheable): Pick<ContentPart, 'cache_control'> {
  return hasCacheControl(block) ? { cache_control: block.cache_control! } : {};
}

/** Texts with empty lines between them: one string, or a part each where one of them has a mark for a cache. */
export function paragraphs(blocks: readonly Block[]): string | ContentPart[] {
  const parts = blocks.map(({ text = '', ...block }, at) => {
    const end = at === blocks.length - 1 ? '' : '\n\n';
    return { type: 'text', text: text + end, ...cacheControlOf(block) };
  });
  return parts.some(hasCacheControl) ? parts : parts.map(({ text }) => text).join('');
}

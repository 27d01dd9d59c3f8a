import type { ContentPart } from '../../chat/chat.ts';
import type { Places } from '../../places.ts';
import type { Block, Source } from '../messages.ts';

/** What a block says as parts of a chat message; nothing for an empty text or a block that is passed over. */
export function toChatParts(block: Block, place: string, places: Places): ContentPart[] {
  const parts = readers[block.type]?.(block) ?? [];
  for (const part of parts) places.set(part, place);
  return parts;
}

const readers: Record<string, (block: Block) => ContentPart[]> = {
  text: ({ text }) => textPart(text ?? ''),
  image: ({ source }) => [{ type: 'image_url', image_url: { url: imageUrl(source as Source) } }],
  search_result: ({ title, source, content }) =>
    textPart([title, source as string, plain(content ?? [])].filter(Boolean).join('\n')),
  document({ title, context, source }) {
    const { data, content } = source as Source;
    return textPart([title, context, data ?? plain(content ?? [])].filter(Boolean).join('\n'));
  },
};

function textPart(text: string): ContentPart[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

function plain(content: string | Block[]): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text ?? '').join('\n');
}

function imageUrl({ type, media_type: mediaType, data, url }: Source): string {
  return type === 'url' ? url! : `data:${mediaType};base64,${data}`;
}

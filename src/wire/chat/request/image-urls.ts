import { fieldsOf } from '../../../base/fields.ts';
import type { ChatMessage } from '../chat.ts';

/** Message for an image URL that the model's server may not fetch. */
export const imageUrlsOff =
  'image URLs are not fetched: send a data: URL, or set image_urls: true for the model in the configuration to let its server fetch images';

/** Paths of images that a request names by URL: `messages[0].content[1]`. */
export function* imageUrlPaths(messages: readonly Pick<ChatMessage, 'content'>[]): Generator<string> {
  for (const [at, { content }] of messages.entries()) {
    if (typeof content === 'string') continue;
    for (const [index, { type, image_url: image }] of (content ?? []).entries())
      if (type === 'image_url' && !String(fieldsOf(image)['url']).startsWith('data:'))
        yield `messages[${at}].content[${index}]`;
  }
}

export function hasImageUrl(messages: readonly Pick<ChatMessage, 'content'>[]): boolean {
  return imageUrlPaths(messages).next().done === false;
}

import { fieldsOf } from '../../../base/fields.ts';
import type { ChatMessage } from '../chat.ts';

/** The reason for refusing an image at an address, for a model whose server is not to fetch any. */
export const imageUrlsOff =
  'images are never fetched by this service: send a data: URL. Where the server behind this model shall fetch images itself, set image_urls: true for the model in the configuration';

/** The places of the images that a request names by an address, as `messages[0].content[1]`. */
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

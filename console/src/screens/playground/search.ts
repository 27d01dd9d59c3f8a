export const formats = ['chat', 'responses', 'messages'] as const;
/** Format of requests and answers. */
export type Format = (typeof formats)[number];

export const paths: Readonly<Record<Format, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
};

export const languages = ['curl', 'python', 'javascript'] as const;
/** Language of the code that sends the same request. */
export type Language = (typeof languages)[number];

/** State that an address shares. Prompts are in no address. */
export interface PlaygroundSearch {
  format?: Format;
  model?: string;
  code?: Language;
}

export const defaults = { format: 'chat', code: 'curl' } as const satisfies PlaygroundSearch;

/** Reads the search parameters of an address, without those that are unknown or the default. */
export function playgroundSearch(given: Record<string, unknown>): PlaygroundSearch {
  const format = formats.find((name) => name === given['format'] && name !== defaults.format);
  const code = languages.find((name) => name === given['code'] && name !== defaults.code);
  const model = given['model'];
  return {
    ...(format && { format }),
    ...(typeof model === 'string' && model !== '' && { model }),
    ...(code && { code }),
  };
}

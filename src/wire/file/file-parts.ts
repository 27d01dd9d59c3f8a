import { type Fields, isObject } from '../../base/fields.ts';

/** What is known of a file that takes the place of its id. */
export interface FileContent {
  filename: string;
  mediaType: string;
  base64: string;
  /** Where it is text, that. */
  text: string | null;
}

/** A part of a request that names a file instead of holding it. */
export interface FilePart {
  place: string;
  fileId: string;
  /** Puts the content where the id was, as the format has it; null, or why it cannot be put there. */
  put: (content: FileContent) => string | null;
  /** Whether it goes in as text, not in base64. */
  isText?: true;
}

/** Where parts stand, in all formats: in messages, items, and the results of tools. */
const holders = new Set(['messages', 'input', 'items', 'content', 'output']);

/** The parts of a request body that name a file. They change the body they are found in. */
export function fileParts(body: unknown): FilePart[] {
  const found: FilePart[] = [];
  if (isObject(body)) look(body, '');
  return found;

  function look(value: object, place: string): void {
    // Most is text, which is passed by.
    if (Array.isArray(value))
      return value.forEach((item, at) => isHolder(item) && look(item, `${place}[${at}]`));
    const fields = value as Fields;
    // What a model said to a tool is nobody's part.
    if (fields['type'] === 'tool_use') return;
    const part = typeof fields['type'] === 'string' ? partOf(fields, place) : undefined;
    if (part) found.push(part);
    else
      for (const name in fields) {
        const held = fields[name];
        if (isHolder(held) && holders.has(name)) look(held, place === '' ? name : `${place}.${name}`);
      }
  }
}

function isHolder(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function partOf(part: Fields, place: string): FilePart | undefined {
  const { type, file, source } = part;
  const holder = type === 'file' ? file : part;
  if ((type === 'file' || type === 'input_file') && isObject(holder) && typeof holder['file_id'] === 'string')
    return named(holder, type === 'file' ? `${place}.file` : place, (content) => {
      holder['filename'] ??= content.filename;
      holder['file_data'] = dataUrl(content);
      delete holder['file_id'];
      return null;
    });
  if (type === 'input_image' && typeof part['file_id'] === 'string')
    return named(part, place, (content) => {
      if (!isImage(content)) return noImage;
      part['image_url'] = dataUrl(content);
      delete part['file_id'];
      return null;
    });
  if (!isObject(source) || source['type'] !== 'file' || typeof source['file_id'] !== 'string')
    return undefined;
  if (type === 'image')
    return named(source, `${place}.source`, (content) => {
      if (!isImage(content)) return noImage;
      part['source'] = { type: 'base64', media_type: content.mediaType, data: content.base64 };
      return null;
    });
  if (type === 'document')
    return {
      ...named(source, `${place}.source`, ({ text }) => {
        if (text === null) return 'the file is no text: files such as PDFs are not read here';
        part['source'] = { type: 'text', media_type: 'text/plain', data: text };
        return null;
      }),
      isText: true,
    };
  return undefined;
}

function named(holder: Fields, place: string, put: FilePart['put']): FilePart {
  return { place: `${place}.file_id`, fileId: holder['file_id'] as string, put };
}

const noImage = 'the file is no image that models take: PNG, JPEG, GIF or WebP';

function isImage({ mediaType }: FileContent): boolean {
  return mediaType.startsWith('image/');
}

function dataUrl({ mediaType, base64 }: FileContent): string {
  return `data:${mediaType};base64,${base64}`;
}

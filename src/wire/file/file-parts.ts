import { type Fields, isObject } from '../../base/fields.ts';

/** Content of a file that replaces its id. */
export interface FileContent {
  filename: string;
  mediaType: string;
  base64: string;
  /** Null for a binary file. */
  text: string | null;
}

/** Part of a request that refers to a file by its id. */
export interface FilePart {
  path: string;
  fileId: string;
  /** Replaces the id by the content; returns null, or the reason why the part cannot contain it. */
  put: (content: FileContent) => string | null;
  /** True if the content is inserted as text instead of base64. */
  isText?: true;
}

/** Members that contain parts in any format: messages, items and tool results. */
const holders = new Set(['messages', 'input', 'items', 'content', 'output']);

/** Finds the parts of a request body that refer to a file. Their `put` changes that body. */
export function fileParts(body: unknown): FilePart[] {
  const found: FilePart[] = [];
  if (isObject(body)) search(body, '');
  return found;

  function search(value: object, path: string): void {
    if (Array.isArray(value))
      return value.forEach((item, at) => isHolder(item) && search(item, `${path}[${at}]`));
    const fields = value as Fields;
    // The input of a tool call is not a part.
    if (fields['type'] === 'tool_use') return;
    const part = typeof fields['type'] === 'string' ? partOf(fields, path) : undefined;
    if (part) found.push(part);
    else
      for (const name in fields) {
        const held = fields[name];
        if (isHolder(held) && holders.has(name)) search(held, path === '' ? name : `${path}.${name}`);
      }
  }
}

function isHolder(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function partOf(part: Fields, path: string): FilePart | undefined {
  const { type, file, source } = part;
  const holder = type === 'file' ? file : part;
  if ((type === 'file' || type === 'input_file') && isObject(holder) && typeof holder['file_id'] === 'string')
    return named(holder, type === 'file' ? `${path}.file` : path, (content) => {
      holder['filename'] ??= content.filename;
      holder['file_data'] = dataUrl(content);
      delete holder['file_id'];
      return null;
    });
  if (type === 'input_image' && typeof part['file_id'] === 'string')
    return named(part, path, (content) => {
      if (!isImage(content)) return notAnImage;
      part['image_url'] = dataUrl(content);
      delete part['file_id'];
      return null;
    });
  if (!isObject(source) || source['type'] !== 'file' || typeof source['file_id'] !== 'string')
    return undefined;
  if (type === 'image')
    return named(source, `${path}.source`, (content) => {
      if (!isImage(content)) return notAnImage;
      part['source'] = { type: 'base64', media_type: content.mediaType, data: content.base64 };
      return null;
    });
  if (type === 'document')
    return {
      ...named(source, `${path}.source`, ({ text }) => {
        if (text === null) return 'the file is not text: PDFs and other binary files are not supported here';
        part['source'] = { type: 'text', media_type: 'text/plain', data: text };
        return null;
      }),
      isText: true,
    };
  return undefined;
}

function named(holder: Fields, path: string, put: FilePart['put']): FilePart {
  return { path: `${path}.file_id`, fileId: holder['file_id'] as string, put };
}

const notAnImage = 'the file is not an image: expected PNG, JPEG, GIF or WebP';

function isImage({ mediaType }: FileContent): boolean {
  return mediaType.startsWith('image/');
}

function dataUrl({ mediaType, base64 }: FileContent): string {
  return `data:${mediaType};base64,${base64}`;
}

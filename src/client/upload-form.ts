/** Body of a multipart form, with its `content-type`. */
export interface UploadForm {
  type: string;
  body: Blob;
}

/**
 * Encodes the fields, and after them the file, as a Blob that reads the file only when it is sent.
 * A `FormData` given to `fetch` (undici 7) would end the process if the server answers before it has read everything:
 * its encoder then writes into a closed stream, and the error is not caught.
 */
export async function encodeUpload(
  fields: Record<string, string>,
  content: Blob,
  filename: string,
): Promise<UploadForm> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([], { type: content.type }), filename);
  const frame = new Response(form);
  const type = frame.headers.get('content-type') ?? '';
  const text = await frame.text();
  const end = text.lastIndexOf('\r\n--');
  return { type, body: new Blob([text.slice(0, end), content, text.slice(end)]) };
}

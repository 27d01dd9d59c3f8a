/** Request of one line, on its way into a job. */
export interface LineRequest {
  /** `custom_id` in the job's files: the line and its request, the same in every process. */
  key: string;
  /** Path of the endpoint, such as `/v1/chat/completions`. */
  path: string;
  /** JSON object. */
  body: Buffer;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;

/** Line of the input file, as `vllm run-batch` and the OpenAI Batch API take it. */
export function inputLine({ key, path, body }: LineRequest): Buffer {
  const members = `"custom_id":${JSON.stringify(key)},"method":"POST","url":${JSON.stringify(path)}`;
  return Buffer.concat([Buffer.from(`{${members},"body":`), onOneLine(body), Buffer.from('}\n')]);
}

/** The JSON text without line breaks, which may only occur between its tokens. */
function onOneLine(json: Buffer): Buffer {
  if (!json.includes(lineFeed) && !json.includes(carriageReturn)) return json;
  const copy = Buffer.from(json);
  for (const [at, byte] of copy.entries()) if (byte === lineFeed || byte === carriageReturn) copy[at] = space;
  return copy;
}

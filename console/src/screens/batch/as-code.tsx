import { useState } from 'react';
import { serverUrl } from '../../api/base.ts';
import { Code } from '../../parts/code.tsx';
import { Segments } from '../../parts/segments.tsx';
import css from './batch.module.css';

const languages = ['curl', 'Python', 'JavaScript'] as const;
type Language = (typeof languages)[number];

/** The same in code: the state of the batch, and its results. */
export function AsCode({ id }: { id: string }) {
  const [language, setLanguage] = useState<Language>('curl');
  return (
    <div className={css.head}>
      <Segments
        label="Language"
        segments={languages.map((label) => ({
          label,
          isOn: label === language,
          onChoose: () => setLanguage(label),
        }))}
      />
      <Code label="State and results" text={codeFor(language, id, serverUrl())} />
    </div>
  );
}

/** @param url of the server */
export function codeFor(language: Language, id: string, url: string): string {
  if (language === 'curl')
    return `curl -s ${url}/v1/batches/${id} -H "Authorization: Bearer $OFFPEAK_API_KEY"
curl -s ${url}/v1/batches/${id}/output -H "Authorization: Bearer $OFFPEAK_API_KEY" -o output.jsonl`;
  if (language === 'Python')
    return `import os
from openai import OpenAI

client = OpenAI(base_url="${url}/v1", api_key=os.environ["OFFPEAK_API_KEY"])
batch = client.batches.retrieve("${id}")
print(batch.status, batch.request_counts)
if batch.output_file_id:
    client.files.content(batch.output_file_id).write_to_file("output.jsonl")`;
  return `import OpenAI from 'openai';
import { writeFile } from 'node:fs/promises';

const client = new OpenAI({ baseURL: '${url}/v1', apiKey: process.env.OFFPEAK_API_KEY });
const batch = await client.batches.retrieve('${id}');
console.log(batch.status, batch.request_counts);
if (batch.output_file_id) {
  const content = await client.files.content(batch.output_file_id);
  await writeFile('output.jsonl', Buffer.from(await content.arrayBuffer()));
}`;
}

import { useState } from 'react';
import { serverUrl } from '../../api/base.ts';
import { Code } from '../../parts/code.tsx';
import css from './batch.module.css';

const languages = ['curl', 'Python', 'JavaScript'] as const;
type Language = (typeof languages)[number];

/** The same in code: the state of the batch, and its results. */
export function AsCode({ id }: { id: string }) {
  const [language, setLanguage] = useState<Language>('curl');
  return (
    <div>
      <div role="tablist" aria-label="Language" className={css.tabs}>
        {languages.map((each) => (
          <button
            key={each}
            type="button"
            role="tab"
            id={`code-${each}`}
            aria-selected={each === language}
            aria-controls="code"
            tabIndex={each === language ? 0 : -1}
            onClick={() => setLanguage(each)}
            onKeyDown={({ key, currentTarget }) => {
              const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
              if (step === 0) return;
              const next = languages.at((languages.indexOf(each) + step) % languages.length)!;
              setLanguage(next);
              currentTarget.parentElement?.querySelector<HTMLElement>(`#code-${next}`)?.focus();
            }}
          >
            {each}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="code" aria-labelledby={`code-${language}`}>
        <Code label="State and results" text={codeFor(language, id, serverUrl())} />
      </div>
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

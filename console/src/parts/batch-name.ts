/** Members of the metadata that name a batch, the best first. */
const nameKeys = ['name', 'title', 'job', 'description'];

/** Name that people gave to a batch in its metadata; undefined without one. */
export function batchName({ metadata }: { metadata?: object | null | undefined }): string | undefined {
  const fields = Object.entries(metadata ?? {});
  for (const key of nameKeys) {
    const [, value] = fields.find(([name]) => name.toLowerCase() === key) ?? [];
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
  }
  return undefined;
}

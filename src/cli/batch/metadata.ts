import { Option } from 'commander';
import { keyValue } from '../shared/commands.ts';

/** `-m team=search run=7` as `{ team: 'search', run: '7' }`. */
export const metadataOption = new Option('-m, --metadata <key=value...>', 'metadata of the batch').argParser(
  (pair, before: Record<string, string> | undefined) => {
    const [key, value] = keyValue('--metadata', pair);
    return { ...before, [key]: value };
  },
);

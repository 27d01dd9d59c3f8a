import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { filesContent } from './files-content.ts';
import { filesDelete } from './files-delete.ts';
import { filesGet } from './files-get.ts';
import { filesList } from './files-list.ts';
import { filesUpload } from './files-upload.ts';
import { filesValidate } from './files-validate.ts';

export function files(cli: Cli): Command {
  const group = new Command('files').description('upload, list and read files');
  for (const make of [filesUpload, filesList, filesGet, filesContent, filesDelete, filesValidate])
    group.addCommand(make(cli));
  return group;
}

import { EndKey, type Ending } from './end-key.tsx';
import { KeyDetails } from './key-details.tsx';
import { KeyForm } from './key-form.tsx';
import { OrgForm } from './org-form.tsx';
import type { Org } from '../../api/orgs.ts';
import type { Key, NewKey } from './queries.ts';
import { Rotate } from './rotate.tsx';
import { Secret } from './secret.tsx';

/** The open dialog. A form without an id creates something. The secret of a new key is here alone, and gone when it closes. */
export type OpenDialog =
  | { kind: 'org' | 'edit'; id?: string }
  | { kind: 'key' | 'rotate'; id: string }
  | { kind: 'end'; id: string; ending: Ending }
  | { kind: 'secret'; created: NewKey };

interface DialogsProps {
  dialog: OpenDialog;
  orgs: readonly Org[];
  keys: readonly Key[];
  /** Org of a new key. */
  org: string | undefined;
  canChange: boolean;
  onOpen: (dialog: OpenDialog) => void;
  onClose: () => void;
}

export function Dialogs({ dialog, orgs, keys, org, canChange, onOpen, onClose }: DialogsProps) {
  const onCreated = (created: NewKey) => onOpen({ kind: 'secret', created });
  if (dialog.kind === 'secret') return <Secret created={dialog.created} onClose={onClose} />;
  const { kind, id } = dialog;
  if (kind === 'org') return <OrgForm org={orgs.find((each) => each.id === id)} onClose={onClose} />;
  const key = keys.find((each) => each.id === id);
  if (kind === 'edit')
    return <KeyForm keyToChange={key} orgs={orgs} org={org} onCreated={onCreated} onClose={onClose} />;
  if (!key) return null;
  if (kind === 'rotate') return <Rotate keyToReplace={key} onCreated={onCreated} onClose={onClose} />;
  if (kind === 'end') return <EndKey keyToEnd={key} ending={dialog.ending} onClose={onClose} />;
  return (
    <KeyDetails
      shown={key}
      canChange={canChange}
      onEdit={() => onOpen({ kind: 'edit', id: key.id })}
      onRotate={() => onOpen({ kind: 'rotate', id: key.id })}
      onEnd={(ending) => onOpen({ kind: 'end', id: key.id, ending })}
      onClose={onClose}
    />
  );
}

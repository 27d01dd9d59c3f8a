import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { SelectField } from './fields.tsx';
import { FormDialog } from './form-dialog.tsx';
import { type Key, type NewKey, useChange } from './queries.ts';

interface RotateProps {
  keyToReplace: Key;
  onCreated: (key: NewKey) => void;
  onClose: () => void;
}

/** Replaces a key by a new one; the old one works for another while. */
export function Rotate({ keyToReplace: key, onCreated, onClose }: RotateProps) {
  const [overlap, setOverlap] = useState('86400');
  const rotate = useChange(() =>
    bodyOf(
      api.POST('/v1/admin/keys/{key_id}/rotate', {
        params: { path: { key_id: key.id } },
        body: { overlap: Number(overlap) },
      }),
    ),
  );
  return (
    <FormDialog
      title={`Rotate ${key.name || key.id}`}
      action="Create the new key"
      isBusy={rotate.isPending}
      error={rotate.error}
      onSubmit={() =>
        rotate.mutate(undefined, {
          onSuccess(created) {
            onClose();
            onCreated(created);
          },
        })
      }
      onClose={onClose}
    >
      <p>A new key gets the same settings, budget and limits. Both work during the overlap.</p>
      <SelectField label="The old key works for another" value={overlap} onChange={setOverlap}>
        <option value="0">0 seconds: it ends at once</option>
        <option value="3600">hour</option>
        <option value="86400">day</option>
        <option value="604800">week</option>
        <option value="2592000">30 days</option>
      </SelectField>
    </FormDialog>
  );
}

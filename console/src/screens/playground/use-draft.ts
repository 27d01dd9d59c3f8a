import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Draft, emptyDraft } from './draft.ts';

const draftKey = ['playground', 'draft'] as const;

/** The draft stays while other screens are open. It is kept with the data of the session, which a sign-out forgets. */
export function useDraft(): [Draft, (changes: Partial<Draft>) => void] {
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => queries.getQueryData<Draft>(draftKey) ?? emptyDraft);
  useEffect(() => {
    queries.setQueryDefaults(draftKey, { gcTime: Infinity });
    queries.setQueryData(draftKey, draft);
  }, [queries, draft]);
  return [draft, (changes) => setDraft((current) => ({ ...current, ...changes }))];
}

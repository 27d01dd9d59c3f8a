import { useEffect, useRef, useState } from 'react';

type Functions = Readonly<Record<string, ((...values: never[]) => void) | undefined>>;

/** Functions that stay the same objects and call the latest given ones, so that what gets them renders only when its data change. */
export function useStable<T extends Functions>(
  functions: T,
): { readonly [Name in keyof T]-?: NonNullable<T[Name]> } {
  const latest = useRef(functions);
  useEffect(() => {
    latest.current = functions;
  });
  const [stable] = useState(() =>
    Object.fromEntries(
      Object.keys(functions).map((name) => [name, (...values: never[]) => latest.current[name]?.(...values)]),
    ),
  );
  return stable as { [Name in keyof T]-?: NonNullable<T[Name]> };
}

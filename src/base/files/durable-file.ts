import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file atomically: after a crash at any time it holds either the whole old or the whole new content. Mode 0600. */
export function writeDurably(path: string, text: string): void {
  const next = `${path}.next`;
  const file = openSync(next, 'w', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, path);
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** The asynchronous form of {@link writeDurably}; calls for one path must not overlap. */
export async function writeDurablySoon(path: string, text: string): Promise<void> {
  const next = `${path}.next`;
  await synced(next, 'w', (file) => file.writeFile(text));
  await rename(next, path);
  await synced(dirname(path), 'r');
}

type File = Awaited<ReturnType<typeof open>>;

async function synced(path: string, flags: string, act?: (file: File) => Promise<void>): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await act?.(file);
    await file.sync();
  } finally {
    await file.close();
  }
}

import { tableOf } from '../base/own.ts';
import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { messageOf } from '../base/errors.ts';
import { realPathBelow } from '../base/files/below.ts';
import { detectContentType, sniffedBytes } from '../go/detect-content-type.ts';
import { typeByExtension } from '../go/type-by-extension.ts';
import { pageNotFound, type Reply, text } from './reply.ts';

const htmlEscapes: Readonly<Record<string, string>> = tableOf({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
});
const html = (name: string): string => name.replace(/[&<>"']/g, (character) => htmlEscapes[character] ?? '');

/**
 * Serves `/logs/…`: folders as a listing, files as they are. Anything outside `root`, reached by `..` or a link, is not found.
 *
 * @param parts the decoded path below `/logs/`
 * @param slash whether the path ended in a slash, as a folder's does
 */
export async function nodeLogs(root: string, parts: readonly string[], slash: boolean): Promise<Reply> {
  const found = await inside(root, parts);
  if (!found) return pageNotFound;
  const about = await stat(found).catch(() => undefined);
  if (!about) return pageNotFound;
  const headers = { 'Last-Modified': about.mtime.toUTCString() };
  if (about.isDirectory()) {
    if (!slash) return { status: 301, headers: { Location: `${parts.at(-1) ?? ''}/` }, body: '' };
    return listing(found, headers);
  }
  if (!about.isFile()) return pageNotFound;
  return {
    status: 200,
    headers: {
      'Content-Type': typeByExtension(found) ?? detectContentType(await beginningOf(found)),
      'Content-Length': String(about.size),
      ...headers,
    },
    body: {
      stream: async (sink) => {
        if (about.size === 0) return;
        for await (const chunk of createReadStream(found, { end: about.size - 1 }))
          await sink.write(chunk as Buffer);
      },
      otherwise: (reason) => text(500, messageOf(reason)),
    },
  };
}

/** Returns the first bytes of a file, for content type detection. */
async function beginningOf(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(sniffedBytes), 0, sniffedBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Returns the real path if it is the root or below it, otherwise undefined. */
async function inside(root: string, parts: readonly string[]): Promise<string | undefined> {
  return realPathBelow(root, parts.join('/'), 'a log').catch(() => undefined);
}

async function listing(folder: string, headers: Reply['headers']): Promise<Reply> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.map((entry) => `${entry.name}${entry.isDirectory() ? '/' : ''}`).sort();
  const lines = names.map(
    (name) => `<a href="${encodeURI(name).replace(/[?#]/g, encodeURIComponent)}">${html(name)}</a>\n`,
  );
  return {
    status: 200,
    headers: { 'Content-Type': 'text/html; charset=utf-8', ...headers },
    body: `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join('')}</pre>\n`,
  };
}

import { expect, test } from 'vitest';
import { ApiError } from '../../../src/api/client.ts';
import { ignoreAlreadyExists, ignoreNotFound } from '../../../src/controller/client/errors.ts';

const notFound = new ApiError(404, { reason: 'NotFound' });
const exists = new ApiError(409, { reason: 'AlreadyExists' });
const conflict = new ApiError(409, { reason: 'Conflict' });

const caught = (reason: unknown, ignore: (reason: unknown) => undefined): Promise<unknown> =>
  Promise.reject(reason as Error).catch(ignore);

test('181. ignoreNotFound ignores 404 and nothing, and rethrows the rest', async () => {
  expect(await caught(notFound, ignoreNotFound)).toBeUndefined();
  expect(await caught(undefined, ignoreNotFound)).toBeUndefined();
  await expect(caught(exists, ignoreNotFound)).rejects.toBe(exists);
});

test('182. ignoreAlreadyExists ignores what exists, and rethrows other conflicts', async () => {
  expect(await caught(exists, ignoreAlreadyExists)).toBeUndefined();
  await expect(caught(conflict, ignoreAlreadyExists)).rejects.toBe(conflict);
});

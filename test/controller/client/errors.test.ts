import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/api/client.ts';
import * as errors from '../../../src/controller/client/errors.ts';

const { ignoreAlreadyExists, ignoreNotFound } = errors;
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

describe('error predicates', () => {
  /** Each predicate with its reason, and the status that is enough without a known reason. */
  const byReason = [
    [errors.isNotFound, 'NotFound', 404],
    [errors.isAlreadyExists, 'AlreadyExists', undefined],
    [errors.isConflict, 'Conflict', 409],
    [errors.isInvalid, 'Invalid', 422],
    [errors.isGone, 'Gone', 410],
    [errors.isResourceExpired, 'Expired', undefined],
    [errors.isNotAcceptable, 'NotAcceptable', 406],
    [errors.isUnsupportedMediaType, 'UnsupportedMediaType', 415],
    [errors.isMethodNotSupported, 'MethodNotAllowed', 405],
    [errors.isServiceUnavailable, 'ServiceUnavailable', 503],
    [errors.isBadRequest, 'BadRequest', 400],
    [errors.isUnauthorized, 'Unauthorized', 401],
    [errors.isForbidden, 'Forbidden', 403],
    [errors.isTimeout, 'Timeout', 504],
    [errors.isServerTimeout, 'ServerTimeout', undefined],
    [errors.isInternalError, 'InternalError', 500],
    [errors.isTooManyRequests, 'TooManyRequests', 429],
    [errors.isRequestEntityTooLarge, 'RequestEntityTooLarge', 413],
  ] as const;

  test('each is true for its reason, whatever the status, and for no other', () => {
    for (const [, reason] of byReason)
      expect(byReason.filter(([is]) => is(new ApiError(418, { reason }))).map(([, name]) => name)).toEqual([
        reason,
      ]);
  });

  test('an error without a known reason is what its HTTP status says', () => {
    for (const [is, reason, status] of byReason)
      for (const unknown of ['', 'Odd'])
        expect(is(new ApiError(status ?? 409, { reason: unknown })), reason).toBe(status !== undefined);
  });

  test('an error with another known reason is not what its HTTP status says; of 413 and 429 it is', () => {
    const other = byReason.filter(([is, , status = 418]) => is(new ApiError(status, { reason: 'Expired' })));
    expect(other.map(([, reason]) => reason)).toEqual([
      'Expired',
      'TooManyRequests',
      'RequestEntityTooLarge',
    ]);
  });

  test('errors that wrap one of the API server are what it is, others are nothing', () => {
    const wrapped = new Error('not reconciled', { cause: new Error('not read', { cause: notFound }) });
    expect(errors.isNotFound(wrapped)).toBe(true);
    expect(errors.apiErrorIn(wrapped)).toBe(notFound);
    expect(errors.reasonForError(wrapped)).toBe('NotFound');
    const round = new Error('round');
    round.cause = round;
    for (const nothing of [undefined, 'NotFound', new Error('NotFound'), { reason: 'NotFound' }, round]) {
      expect(byReason.some(([is]) => is(nothing))).toBe(false);
      expect(errors.reasonForError(nothing)).toBe('');
    }
  });

  test('suggestsClientDelay has the time after which the server asks to come again', () => {
    expect(errors.suggestsClientDelay(new ApiError(429, {}, { retryAfterMs: 2_000 }))).toBe(2_000);
    expect(errors.suggestsClientDelay(new ApiError(500, { details: { retryAfterSeconds: 3 } }))).toBe(3_000);
    expect(errors.suggestsClientDelay(new ApiError(500, { reason: 'ServerTimeout' }))).toBe(0);
    expect(errors.suggestsClientDelay(conflict)).toBeUndefined();
  });

  test('hasStatusCause finds what the server names', () => {
    const terminating = new ApiError(403, {
      reason: 'Forbidden',
      details: { causes: [{ reason: 'NamespaceTerminating' }] },
    });
    expect(errors.hasStatusCause(terminating, 'NamespaceTerminating')).toBe(true);
    expect(errors.hasStatusCause(terminating, 'FieldValueInvalid')).toBe(false);
    expect(errors.hasStatusCause(conflict, 'NamespaceTerminating')).toBe(false);
  });
});

import { afterEach, describe, expect, test } from 'vitest';
import { ApiError, kinds } from '../../../src/controller/index.ts';
import { decoder, defaulter, DeniedError, validator } from '../../../src/controller/webhook/index.ts';
import { endServers, listening, patchOf, pod, requestOf, reviewOf } from './support.ts';

afterEach(endServers);

describe('defaulter', () => {
  test('1 what is set is patched; members that the type does not declare are kept', async () => {
    const webhook = defaulter(kinds.Pod, (object, { request }) => {
      object.metadata = { ...object.metadata, labels: { by: request.userInfo.username ?? '' } };
    });
    expect((await webhook.handle(requestOf())).patches).toEqual([
      { op: 'add', path: '/metadata/labels', value: { by: 'ann' } },
    ]);
  });

  test('2 an object that is returned counts; a class with a default method is a defaulter', async () => {
    const returning = defaulter(kinds.Pod, (object) => ({ ...object, metadata: { name: 'other' } }));
    expect((await returning.handle(requestOf())).patches).toEqual([
      { op: 'remove', path: '/metadata/namespace' },
      { op: 'replace', path: '/metadata/name', value: 'other' },
    ]);
    class Defaults {
      readonly name = 'own';
      default(object: { metadata?: { name?: string } }) {
        object.metadata = { ...object.metadata, name: this.name };
      }
    }
    expect((await defaulter(kinds.Pod, new Defaults()).handle(requestOf())).patches).toMatchObject([
      { path: '/metadata/name', value: 'own' },
    ]);
  });

  test('3 deletions are admitted unseen, another kind is a bad request, an error refuses', async () => {
    const webhook = defaulter(kinds.Pod, () => {
      throw new Error('no');
    });
    expect(await webhook.handle(requestOf({ operation: 'DELETE' }))).toMatchObject({ allowed: true });
    expect(await webhook.handle(requestOf())).toMatchObject({
      allowed: false,
      result: { code: 403, message: 'no' },
    });
    const other = requestOf({ object: pod({ kind: 'Node' }) });
    expect(await webhook.handle(other)).toMatchObject({
      allowed: false,
      result: { code: 400, message: 'unable to decode v1, Kind=Node into v1, Kind=Pod' },
    });
  });
});

describe('validator', () => {
  const seen: string[] = [];
  const webhook = validator(kinds.Pod, {
    create: ({ metadata }) => void seen.push(`create ${metadata?.name ?? ''}`),
    update: (before, after) => {
      seen.push(`update ${before.metadata?.name ?? ''} ${after.metadata?.name ?? ''}`);
      return ['careful'];
    },
    delete: ({ metadata }) => {
      throw new Error(`${metadata?.name ?? ''} is needed`);
    },
  });
  const old = pod({ metadata: { name: 'old' } });

  test('1 each operation has its function, with the stored object first', async () => {
    expect(await webhook.handle(requestOf())).toMatchObject({ allowed: true, warnings: [] });
    expect(await webhook.handle(requestOf({ operation: 'UPDATE', oldObject: old }))).toMatchObject({
      allowed: true,
      warnings: ['careful'],
    });
    const deletion = requestOf({ operation: 'DELETE', oldObject: old });
    expect(await webhook.handle(deletion)).toMatchObject({
      allowed: false,
      result: { code: 403, reason: 'Forbidden', message: 'old is needed' },
    });
    expect(await webhook.handle(requestOf({ operation: 'CONNECT' }))).toMatchObject({ allowed: true });
    expect(seen).toEqual(['create p', 'update old p']);
  });

  test('2 an operation without a function is admitted; missing objects are bad requests', async () => {
    expect(await validator(kinds.Pod, {}).handle(requestOf())).toMatchObject({ allowed: true });
    expect(await webhook.handle(requestOf({ operation: 'DELETE' }))).toMatchObject({
      allowed: false,
      result: { code: 400, message: 'there is no content to decode' },
    });
  });

  test('3 an API error keeps status, reason and details; DeniedError has warnings', async () => {
    const fails = (reason: Error) =>
      validator(kinds.Pod, { create: () => Promise.reject(reason) }).handle(requestOf());
    const details = { causes: [{ field: 'spec', message: 'bad', reason: 'FieldValueInvalid' }] };
    expect(await fails(new ApiError(422, { reason: 'Invalid', message: 'bad spec', details }))).toEqual({
      allowed: false,
      result: { code: 422, reason: 'Invalid', message: 'bad spec', details },
    });
    expect(await fails(new DeniedError('no', { warnings: ['w'], auditAnnotations: { a: 'b' } }))).toEqual({
      allowed: false,
      result: { code: 403, reason: 'Forbidden', message: 'no' },
      warnings: ['w'],
      auditAnnotations: { a: 'b' },
    });
  });
});

describe('the request of a typed handler', () => {
  test('has the objects as they were received, whatever the handler did to its own', async () => {
    const seen: unknown[] = [];
    const { send } = await listening((server) => {
      server.register(
        '/validate',
        validator(kinds.Pod, {
          update: (before, after, context) => {
            before.metadata = { name: 'written' };
            after.metadata = { name: 'written' };
            const { object, oldObject, uid } = context.request;
            seen.push([object?.metadata?.name, oldObject?.metadata?.name, uid]);
          },
        }),
      );
      server.register(
        '/mutate',
        defaulter(kinds.Pod, (object, { request }) => {
          object.metadata = { ...object.metadata, labels: { seen: 'true' } };
          if (request.object) request.object.metadata = { name: 'written' };
        }),
      );
    });
    const oldObject = pod({ metadata: { namespace: 'default', name: 'old' } });
    const { json } = await send('/validate', reviewOf({ uid: 'u-2', operation: 'UPDATE', oldObject }));
    expect(json.response?.['allowed']).toBe(true);
    expect(seen).toEqual([['p', 'old', 'u-2']]);
    expect(patchOf(await send('/mutate', reviewOf()))).toEqual([
      { op: 'add', path: '/metadata/labels', value: { seen: 'true' } },
    ]);
  });

  test('a request that a test passes itself is not written to', async () => {
    const request = requestOf();
    const webhook = validator(kinds.Pod, {
      create: (object) => {
        object.metadata = { name: 'written' };
      },
    });
    expect(await webhook.handle(request)).toMatchObject({ allowed: true });
    expect(request).toEqual(requestOf());
  });
});

describe('decoder', () => {
  test('a decoded object is a copy', () => {
    const request = requestOf({ oldObject: pod({ metadata: { name: 'old' } }) });
    const object = decoder.decode(request, kinds.Pod);
    object.metadata = {};
    expect(request.object?.metadata?.name).toBe('p');
    expect(decoder.decodeOld(request, kinds.Pod).metadata?.name).toBe('old');
  });
});

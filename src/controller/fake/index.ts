/** `podtender/controller/fake`: a client of objects in memory, and interceptors. Re-exports only. */
export { fakeClient, type FakeClientOptions } from './fake-client.ts';
export { interceptClient, type InterceptorFuncs } from '../client/interceptor.ts';

-- A file of format 1 that can't be migrated, being only looked at, seen as one of today's.
create temp view sessions as select *, no as change from main.sessions;

"""Functions of dates and times."""

from __future__ import annotations

import calendar
import datetime as dt
import email.utils
import time

from library.row import rows

_D, _DD, _Y, _YM = "day: date", "first: date, second: date", "year: 1..9999", "year: 1..9999, month: 1..12"
_M = "moment: moment"


def _months_on(day: dt.date, months: int) -> dt.date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return dt.date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


# fmt: off
ROWS = [
    *rows("dates",
        ("date.weekday", lambda day: day.strftime("%A"), _D, ("2024-02-29",), "Thursday", "The day of the week on which a date falls."),
        ("date.isoweekday", dt.date.isoweekday, _D, ("2024-02-29",), 4),
        ("date.isocalendar", dt.date.isocalendar, _D, ("2024-02-29",), [2024, 9, 4], "Year, week number and day of the week by ISO 8601."),
        ("date.fromisocalendar", dt.date.fromisocalendar, "year: 1..9999, week: 1..53, day: 1..7", (2024, 9, 4), "2024-02-29", "The date of a day in a numbered week."),
        ("date.toordinal", dt.date.toordinal, _D, ("0001-01-02",), 2),
        ("date.fromordinal", dt.date.fromordinal, "number: 1..3652059", (738945,), "2024-02-29"),
        ("date.day_of_year", lambda day: day.timetuple().tm_yday, _D, ("2024-03-01",), 61, "The number of a day within its year."),
        ("date.between", lambda a, b: (b - a).days, _DD, ("2024-01-01", "2024-03-01"), 60, "How many days lie between two dates."),
        ("date.weeks_between", lambda a, b: divmod((b - a).days, 7), _DD, ("2024-01-01", "2024-03-01"), [8, 4], "Whole weeks and left-over days between two dates."),
        ("date.add_days", lambda day, n: day + dt.timedelta(days=n), "day: date, days: -100000..100000", ("2024-02-28", 2), "2024-03-01", "The date so many days after another, or before it."),
        ("date.add_weeks", lambda day, n: day + dt.timedelta(weeks=n), "day: date, weeks: -10000..10000", ("2024-02-28", 1), "2024-03-06", "The date so many weeks after another, or before it."),
        ("date.add_months", _months_on, "day: date, months: -1200..1200", ("2024-01-31", 1), "2024-02-29", "The date so many months after another; a day that the month lacks becomes its last."),
        ("date.replace_year", lambda day, year: day.replace(year=year), "day: date, year: 1..9999", ("2024-03-01", 2025), "2025-03-01", "The same day and month in another year."),
        ("date.first_of_month", lambda day: day.replace(day=1), _D, ("2024-02-29",), "2024-02-01", "The first day of a date's month."),
        ("date.last_of_month", lambda day: day.replace(day=calendar.monthrange(day.year, day.month)[1]), _D, ("2024-02-10",), "2024-02-29", "The last day of a date's month."),
        ("date.quarter", lambda day: (day.month + 2) // 3, _D, ("2024-05-10",), 2, "In which quarter of the year a date lies."),
        ("date.is_weekend", lambda day: day.weekday() >= 5, _D, ("2024-03-02",), True, "Whether a date is a Saturday or a Sunday."),
        ("date.age", lambda born, on: on.year - born.year - ((on.month, on.day) < (born.month, born.day)), "born: date, on: date", ("1990-06-15", "2024-06-14"), 33, "How old somebody is on a date, in whole years."),
        ("date.strftime", lambda day, form: day.strftime(form), "day: date, form: word", ("2024-02-29", "%d/%m/%y"), "29/02/24", "Write a date by a format such as %d/%m/%Y."),
        ("date.ctime", dt.date.ctime, _D, ("2024-02-29",), "Thu Feb 29 00:00:00 2024"),
        ("date.earliest", min, _DD, ("2024-02-29", "2023-01-01"), "2023-01-01", "The earlier of two dates."),
        ("date.latest", max, _DD, ("2024-02-29", "2023-01-01"), "2024-02-29", "The later of two dates."),
        ("date.is_before", lambda a, b: a < b, _DD, ("2024-02-29", "2023-01-01"), False, "Whether a date comes before another."),
    ),
    *rows("times",
        ("datetime.strptime", dt.datetime.strptime, "text: word, form: word", ("29.02.2024", "%d.%m.%Y"), "2024-02-29T00:00:00", "Read a moment that is written in a format such as %d.%m.%Y."),
        ("datetime.strftime", lambda moment, form: moment.strftime(form), "moment: moment, form: word", ("2024-02-29T13:05:00", "%H:%M"), "13:05", "Write a moment by a format such as %H:%M."),
        ("datetime.timestamp", lambda moment: moment.replace(tzinfo=dt.UTC).timestamp(), _M, ("1970-01-02T00:00:00",), 86400.0, "Unix time of a moment in UTC: seconds since 1970."),
        ("datetime.fromtimestamp", lambda seconds: dt.datetime.fromtimestamp(seconds, dt.UTC), "seconds: 0..250000000000", (86400,), "1970-01-02T00:00:00+00:00", "The moment in UTC of a Unix timestamp, in seconds since 1970."),
        ("datetime.combine", dt.datetime.combine, "day: date, clock: time", ("2024-02-29", "08:30:00"), "2024-02-29T08:30:00", "A date and a time of day as one moment."),
        ("datetime.date", dt.datetime.date, _M, ("2024-02-29T08:30:00",), "2024-02-29"),
        ("datetime.time", dt.datetime.time, _M, ("2024-02-29T08:30:00",), "08:30:00"),
        ("datetime.add_hours", lambda moment, n: moment + dt.timedelta(hours=n), "moment: moment, hours: -100000..100000", ("2024-02-29T23:00:00", 2), "2024-03-01T01:00:00", "The moment so many hours later, or earlier."),
        ("datetime.add_minutes", lambda moment, n: moment + dt.timedelta(minutes=n), "moment: moment, minutes: -1000000..1000000", ("2024-02-29T23:50:00", 15), "2024-03-01T00:05:00", "The moment so many minutes later, or earlier."),
        ("datetime.between", lambda a, b: (b - a).total_seconds(), "first: moment, second: moment", ("2024-02-29T08:00:00", "2024-02-29T09:30:00"), 5400.0, "How many seconds lie between two moments."),
        ("datetime.to_zone", lambda moment, hours: moment.replace(tzinfo=dt.UTC).astimezone(dt.timezone(dt.timedelta(hours=hours))), "moment: moment, hours: -12..14", ("2024-02-29T23:00:00", 2), "2024-03-01T01:00:00+02:00", "A moment in UTC as clocks show it where they are so many hours ahead."),
        ("timedelta.total_seconds", lambda d, h, m: dt.timedelta(days=d, hours=h, minutes=m).total_seconds(), "days: 0..100000, hours: 0..100000, minutes: 0..100000", (1, 2, 3), 93780.0, "How many seconds so many days, hours and minutes are."),
        ("timedelta.format", lambda seconds: dt.timedelta(seconds=seconds), "seconds: 0..1000000000", (93780,), "1 day, 2:03:00", "A span of seconds as days, hours, minutes and seconds."),
        ("time.strftime", lambda seconds, form: time.strftime(form, time.gmtime(seconds)), "seconds: 0..250000000000, form: word", (0, "%Y"), "1970", "Write a Unix timestamp by a format, in UTC."),
        ("time.to_seconds", lambda clock: clock.hour * 3600 + clock.minute * 60 + clock.second, "clock: time", ("01:00:05",), 3605, "How many seconds have passed since midnight at a time of day."),
        ("email.utils.format_datetime", lambda moment: email.utils.format_datetime(moment.replace(tzinfo=dt.UTC)), _M, ("2024-02-29T08:30:00",), "Thu, 29 Feb 2024 08:30:00 +0000", "A moment as e-mail headers write it."),
        ("email.utils.parsedate", email.utils.parsedate_to_datetime, "text: word", ("Thu, 29 Feb 2024 08:30:00 +0000",), "2024-02-29T08:30:00+00:00", "Read the date of an e-mail header."),
    ),
    *rows("calendar",
        ("calendar.isleap", calendar.isleap, _Y, (2024,), True, "Whether a year has a 29th of February."),
        ("calendar.leapdays", calendar.leapdays, "from_year: 1..9999, to_year: 1..9999", (2000, 2021), 6, "How many leap years lie in a span of years."),
        ("calendar.monthrange", calendar.monthrange, _YM, (2024, 2), [3, 29], "On which weekday a month begins (0 is Monday), and how many days it has."),
        ("calendar.weekday", lambda y, m, d: int(calendar.weekday(y, m, d)), "year: 1..9999, month: 1..12, day: 1..31", (2024, 2, 29), 3, "The weekday of a date by its number; 0 is Monday."),
        ("calendar.month", calendar.month, _YM, (2024, 2), "   February 2024\nMo Tu We Th Fr Sa Su\n          1  2  3  4\n 5  6  7  8  9 10 11\n12 13 14 15 16 17 18\n19 20 21 22 23 24 25\n26 27 28 29\n", "A month's calendar as text, to be printed."),
        ("calendar.calendar", calendar.calendar, _Y, (2024,), calendar.calendar(2024), "A whole year's calendar as text, to be printed."),
        ("calendar.monthcalendar", calendar.monthcalendar, _YM, (2021, 2), [[1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14], [15, 16, 17, 18, 19, 20, 21], [22, 23, 24, 25, 26, 27, 28]]),
        ("calendar.month_name", lambda month: calendar.month_name[month], "month: 1..12", (2,), "February", "The English name of a month by its number."),
        ("calendar.month_abbr", lambda month: calendar.month_abbr[month], "month: 1..12", (2,), "Feb", "The short English name of a month by its number."),
        ("calendar.day_name", lambda day: calendar.day_name[day], "day: 0..6", (0,), "Monday", "The English name of a weekday by its number; 0 is Monday."),
        ("calendar.day_abbr", lambda day: calendar.day_abbr[day], "day: 0..6", (6,), "Sun", "The short English name of a weekday by its number; 0 is Monday."),
        ("calendar.timegm", lambda moment: calendar.timegm(moment.timetuple()), _M, ("1970-01-01T00:01:00",), 60, "Unix time of a moment in UTC, in whole seconds."),
        ("calendar.fridays_13th", lambda year: [month for month in range(1, 13) if dt.date(year, month, 13).weekday() == 4], _Y, (2026,), [2, 3, 11], "The months of a year whose 13th is a Friday."),
        ("calendar.sundays", lambda year, month: [week[6] for week in calendar.monthcalendar(year, month) if week[6]], _YM, (2024, 2), [4, 11, 18, 25], "On which days of a month it is Sunday."),
    ),
]

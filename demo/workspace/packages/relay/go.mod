module tidewater.example/relay

go 1.23
